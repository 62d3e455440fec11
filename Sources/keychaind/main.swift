// keychaind: the keychain service.

import KeychainDaemon
