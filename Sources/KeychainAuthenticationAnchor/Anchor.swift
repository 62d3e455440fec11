// KeychainAuthenticationAnchor: lets users alias KeychainAuthentication to another module name.
// SwiftPM takes an alias of a module only where another target of its package depends on it.

import KeychainAuthentication
