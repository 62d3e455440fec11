// keychaind: the keychain service.

import KeychainDaemon

await DaemonProgram.main()
