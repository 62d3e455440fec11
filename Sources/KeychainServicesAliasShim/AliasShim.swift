// KeychainServicesAliasShim: makes the module alias of KeychainServices work.
// SwiftPM 6.3 applies the alias of a product's module only if another target of the same product
// depends on that module. Without this target, `import` of the alias does not compile.

import KeychainServices
