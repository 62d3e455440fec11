// keychainctl: the command-line tool. Its commands are in the module KeychainTool.

import KeychainTool

ControlProgram.main()
