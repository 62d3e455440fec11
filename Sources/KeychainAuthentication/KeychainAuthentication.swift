// KeychainAuthentication: what a keychain needs to know about the person at the device.
