// keychainctl: the tool for people. The commands are in KeychainTool.

import KeychainTool

ControlProgram.main()
