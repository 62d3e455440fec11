// ItemKind: what a dictionary is about, by `kSecClass` or by a reference.

#if !canImport(Darwin)

internal import KeychainCore

/// Items of a class that is stored, or identities, which are not.
enum ItemKind: Equatable {
    case stored(ItemClass)
    case identity

    /// - Parameter name: The value of a `kSecClass…` constant.
    init?(name: String) {
        if name == "idnt" {
            self = .identity
        } else if let itemClass = ItemClass(name: name) {
            self = .stored(itemClass)
        } else {
            return nil
        }
    }

    /// The value of the `kSecClass…` constant.
    var name: String {
        switch self {
        case .stored(let itemClass): itemClass.name
        case .identity: "idnt"
        }
    }

    /// Whether such items have the attribute. An identity has those of both its halves.
    func has(_ attribute: Attribute) -> Bool {
        switch self {
        case .stored(let itemClass): itemClass.has(attribute)
        case .identity: ItemClass.certificate.has(attribute) || ItemClass.key.has(attribute)
        }
    }

    /// Whether items of the kind have a certificate to look into.
    var hasCertificate: Bool { self == .identity || self == .stored(.certificate) }

    /// Whether an object can stand for items of the kind. Nothing stands for passwords.
    var hasObject: Bool { hasCertificate || self == .stored(.key) }
}

extension KeychainFailure {
    /// The answer to a request for something of Apple's that is not built.
    static func notBuilt(_ what: String) -> KeychainFailure {
        KeychainFailure(.unimplemented, "Not implemented: \(what).")
    }
}

#endif
