// keychainctl: the tool for people. The commands are in KeychainControl.

import KeychainControl

ControlProgram.main()
