// KeychainCryptoKit: the API of Apple's CryptoKit under a module name that can be aliased to
// CryptoKit. The module of swift-crypto can't be aliased, because its sources refer to CryptoKit by
// name.

@_exported public import Crypto
