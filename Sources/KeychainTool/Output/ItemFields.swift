// ItemFields: an item's attributes for display and for JSON, without its secret.

import FoundationEssentials
import KeychainCore

/// One attribute of an item, or one fact about the keychain or its service, with its names and its
/// text.
struct ItemField {
    /// The name for display, such as "key size".
    let label: String
    /// The member's name in JSON.
    let key: String
    let text: String
    let json: JSON
    /// `false` for a field that appears only in JSON.
    var isShown = true
}

extension ItemSnapshot {
    /// Attributes in the order of display, with their names.
    private static let named: [(attribute: Attribute, label: String, key: String)] = [
        (.service, "service", "service"),
        (.server, "server", "server"),
        (.account, "account", "account"),
        (.protocolType, "protocol", "protocol"),
        (.port, "port", "port"),
        (.path, "path", "path"),
        (.securityDomain, "security domain", "securityDomain"),
        (.authenticationType, "authentication type", "authenticationType"),
        (.label, "label", "label"),
        (.description, "description", "description"),
        (.comment, "comment", "comment"),
        (.creator, "creator", "creator"),
        (.type, "type", "type"),
        (.keyClass, "key class", "keyClass"),
        (.keySizeInBits, "key size", "keySize"),
        (.effectiveKeySize, "effective key size", "effectiveKeySize"),
        (.applicationTag, "application tag", "applicationTag"),
        (.applicationLabel, "application label", "applicationLabel"),
        (.startDate, "start date", "startDate"),
        (.endDate, "end date", "endDate"),
        (.isPermanent, "permanent", "permanent"),
        (.isPrivate, "private", "private"),
        (.isModifiable, "modifiable", "modifiable"),
        (.isSensitive, "sensitive", "sensitive"),
        (.wasAlwaysSensitive, "always sensitive", "alwaysSensitive"),
        (.isExtractable, "extractable", "extractable"),
        (.wasNeverExtractable, "never extractable", "neverExtractable"),
        (.canEncrypt, "can encrypt", "canEncrypt"),
        (.canDecrypt, "can decrypt", "canDecrypt"),
        (.canDerive, "can derive", "canDerive"),
        (.canSign, "can sign", "canSign"),
        (.canVerify, "can verify", "canVerify"),
        (.canSignRecover, "can sign with recovery", "canSignRecover"),
        (.canVerifyRecover, "can verify with recovery", "canVerifyRecover"),
        (.canWrap, "can wrap", "canWrap"),
        (.canUnwrap, "can unwrap", "canUnwrap"),
        (.subject, "subject", "subject"),
        (.issuer, "issuer", "issuer"),
        (.serialNumber, "serial number", "serialNumber"),
        (.certificateType, "certificate type", "certificateType"),
        (.certificateEncoding, "certificate encoding", "certificateEncoding"),
        (.subjectKeyID, "subject key identifier", "subjectKeyID"),
        (.publicKeyHash, "public key hash", "publicKeyHash"),
        (.generic, "generic", "generic"),
        (.alias, "alias", "alias"),
        (.isInvisible, "invisible", "invisible"),
        (.isNegative, "negative", "negative"),
        (.scriptCode, "script code", "scriptCode"),
        (.customIcon, "custom icon", "customIcon"),
        (.legacyProtected, "protected", "protected"),
        (.syncViewHint, "sync view hint", "syncViewHint"),
        (.tokenID, "token", "token"),
        (.sharingGroup, "sharing group", "sharingGroup"),
        (.systemBound, "system bound", "systemBound"),
        (.pcsService, "PCS service", "pcsService"),
        (.pcsPublicKey, "PCS public key", "pcsPublicKey"),
        (.pcsPublicIdentity, "PCS public identity", "pcsPublicIdentity"),
    ]

    /// All attributes of the item, without its secret.
    var fields: [ItemField] {
        var fields = [text("class", "class", ClassName(itemClass).rawValue)]
        for (attribute, label, key) in Self.named {
            guard let value = value(of: attribute) else { continue }
            fields.append(
                ItemField(
                    label: label, key: key, text: text(of: value, for: attribute),
                    json: json(of: value, for: attribute)))
        }
        fields += [
            text("group", "group", accessGroup),
            text("accessible", "accessible", protection.commandLineName),
            flag("synchronizable", "synchronizable", isSynchronizable),
        ]
        if !constraints.isEmpty {
            let names = constraints.names
            fields.append(
                ItemField(
                    label: "access control", key: "accessControl",
                    text: names.joined(separator: ", "),
                    json: .array(names.map { .string($0) })))
        }
        for (attribute, label) in [
            (Attribute.creationDate, "created"), (.modificationDate, "modified"),
        ] {
            guard case .date(let seconds) = attributes[attribute] else { continue }
            fields.append(text(label, label, timestamp(seconds)))
        }
        fields += [
            text("reference", "reference", reference.description),
            flag("has data", "hasData", hasData),
        ]
        return fields
    }

    /// The item's attributes as members of an object.
    var members: [(String, JSON)] { fields.map { ($0.key, $0.json) } }

    private func text(_ label: String, _ key: String, _ text: String) -> ItemField {
        ItemField(label: label, key: key, text: printable(text), json: .string(text))
    }

    private func flag(_ label: String, _ key: String, _ flag: Bool) -> ItemField {
        ItemField(label: label, key: key, text: flag ? "yes" : "no", json: .bool(flag))
    }

    // MARK: Values

    /// A value as one line of text.
    private func text(of value: AttributeValue, for attribute: Attribute) -> String {
        if let name = name(of: value, for: attribute) { return printable(name) }
        switch value {
        case .string(let text): return printable(text)
        case .number(let number): return String(number)
        case .date(let seconds): return timestamp(seconds)
        case .data(let data):
            return "0x" + data.map { hexadecimal(UInt32($0), digits: 2) }.joined()
        }
    }

    /// Converts a value to JSON. A number, and any value of an internet password, becomes its
    /// readable name if it has one. Otherwise, a number stays a number, text becomes a string, a
    /// date becomes RFC 3339 text, and data becomes an object with its Base64.
    ///
    /// The distinguished names in a certificate remain data, because their readable form omits
    /// details.
    private func json(of value: AttributeValue, for attribute: Attribute) -> JSON {
        if attribute.kind == .number || itemClass == .internetPassword,
            let name = name(of: value, for: attribute)
        {
            return .string(name)
        }
        switch value {
        case .string(let text): return .string(text)
        case .number(let number): return .number(number)
        case .date(let seconds): return .string(timestamp(seconds))
        case .data(let data): return .object([("base64", .string(data.base64EncodedString()))])
        }
    }

    private func name(of value: AttributeValue, for attribute: Attribute) -> String? {
        NetworkNames.name(of: value, for: attribute)
            ?? KeyNames.name(of: value, for: attribute, in: itemClass)
    }

    /// An attribute's value as one line of text; empty if it is not set.
    func text(of attribute: Attribute) -> String {
        value(of: attribute).map { text(of: $0, for: attribute) } ?? ""
    }

    /// An attribute's value, or `nil` if it is not set. An empty part of a server's address counts
    /// as not set, because some programs store it and others omit it.
    private func value(of attribute: Attribute) -> AttributeValue? {
        guard let value = attributes[attribute] else { return nil }
        let isPart = ItemClass.serverParts.contains(attribute)
        return isPart && value.isEqual(to: .empty(of: attribute.kind)) ? nil : value
    }
}
