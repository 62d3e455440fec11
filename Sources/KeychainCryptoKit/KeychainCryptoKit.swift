// KeychainCryptoKit: what Apple's framework for cryptography offers, under one module name that
// can be aliased to Apple's. swift-crypto's own module can't be: its sources name the framework.

@_exported public import Crypto
