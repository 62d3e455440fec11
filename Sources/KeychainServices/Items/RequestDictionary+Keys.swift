// RequestDictionary+Keys: the entries of a request dictionary other than attributes and the class,
// including those about authentication.

#if !canImport(Darwin)

internal import Foundation
internal import KeychainAuthentication
internal import KeychainCore
internal import KeychainEngine
internal import KeychainRuntime

/// The parts of each item that the caller requests.
struct ReturnTypes: OptionSet {
    let rawValue: UInt8

    static let data = ReturnTypes(rawValue: 1)
    static let attributes = ReturnTypes(rawValue: 2)
    static let ref = ReturnTypes(rawValue: 4)
    static let persistentRef = ReturnTypes(rawValue: 8)
}

extension RequestDictionary {
    // MARK: - kSecMatch…

    /// Reads a match key. The keys that Apple's data-protection keychain ignores are ignored here
    /// too, and so are unknown keys. Calls that don't allow match keys test ``hasMatchKey`` or
    /// ``hasMatchKeyBesideLimit``.
    mutating func readMatchKey(_ key: String, _ value: DictionaryValue) {
        hasMatchKey = true
        if key == "m_Limit" { return readLimit(value) }
        hasMatchKeyBesideLimit = true
        switch key {
        case "m_HostOrSubdomainOfHost":
            guard case .string(let host) = value else { return refuse("The host is not text.") }
            hostOrSubdomain = host
        case "m_Policy":
            guard case .object(let object) = value, let policy = object as? SecPolicy
            else { return refuse("The policy is not a SecPolicy.") }
            certificateFilter.policy = policy
            matchesOnlyCertificates = true
        case "m_Issuers":
            guard case .object(let object) = value, let names = object as? [Data]
            else { return refuse("The issuers are not an array of data.") }
            certificateFilter.issuers = names
            matchesOnlyCertificates = true
        case "m_ValidOnDate":
            switch value {
            case .date(let date): certificateFilter.validOn = date
            case .null: certificateFilter.validOn = Date()
            default: refuse("The date of validity is not a date.")
            }
        case "m_TrustedOnly":
            guard case .boolean(let isWanted) = value else {
                return refuse("The value of kSecMatchTrustedOnly is not a boolean.")
            }
            certificateFilter.trustedOnly = isWanted
        case "m_EmailAddressIfPresent":
            guard case .string(let address) = value else {
                return refuse("The mail address is not text.")
            }
            certificateFilter.emailAddress = address
        default: break
        }
    }

    private mutating func readLimit(_ value: DictionaryValue) {
        switch value {
        case .string("m_LimitOne"): limit = .one
        case .string("m_LimitAll"): limit = .all
        case .number(let number):
            guard let count = Int(exactly: number), count >= 0 else {
                return refuse("The limit is negative or not an integer.")
            }
            limit = .count(count)
        default: refuse("The limit is not valid.")
        }
    }

    // MARK: - kSecReturn…

    mutating func readReturnKey(_ key: String, _ value: DictionaryValue) {
        let type: ReturnTypes
        switch key {
        case "r_Data": type = .data
        case "r_Attributes": type = .attributes
        case "r_Ref": type = .ref
        case "r_PersistentRef": type = .persistentRef
        default: return refuse("Unknown key “\(key)”.")
        }
        guard case .boolean(let isWanted) = value else {
            return refuse("The value of “\(key)” is not a boolean.")
        }
        if isWanted { returns.insert(type) }
    }

    // MARK: - kSecUse…

    mutating func readUseKey(_ key: String, _ value: DictionaryValue) {
        switch key {
        case "u_AuthUI", "u_NoAuthUI", "u_AuthCtx", "u_CredRef", "u_OpPrompt":
            if let mistake = authentication.read(key, value) { refuse(mistake) }
        case "u_ItemList": readItemList(value)
        case "u_Tomb":
            guard case .boolean(let leavesTombstones) = value else {
                return refuse("The value of “\(key)” is not a boolean.")
            }
            tombstones = leavesTombstones ? .always : .never
        // Known keys that have no effect on this keychain.
        case "u_CallerName", "u_UserIndependentKeychain", "u_SystemKeychain",
            "u_SyncBubbleKeychain", "u_TokenRawItems", "u_CertWithIssuers":
            break
        default: refuse("Unknown key “\(key)”.")
        }
    }

    /// Reads an item list. An invalid list is not rejected here but by the addition, because a
    /// deletion ignores it.
    private mutating func readItemList(_ value: DictionaryValue) {
        hasItemList = true
        guard case .object(let object) = value, let list = object as? [AnyObject] else { return }
        let references = list.compactMap { ValueReference($0) }
        if references.count == list.count { itemList = references }
    }

    // MARK: - kSecValue…

    mutating func readValueKey(_ key: String, _ value: DictionaryValue) {
        switch key {
        case "v_Data": readData(value)
        case "v_Ref":
            guard case .object(let object) = value, let referred = ValueReference(object)
            else {
                return refuse("The object in kSecValueRef is not a key, certificate or identity.")
            }
            valueReference = referred
        case "v_PersistentRef":
            guard case .data(let bytes) = value,
                let parsed = PersistentReference(encoded: bytes)
            else { return refuse("The persistent reference is malformed.") }
            reference = parsed
        default: refuse("Unknown key “\(key)”.")
        }
    }
}

// MARK: - Authentication

/// The `kSecUse…` keys about authentication.
struct AuthenticationKeys {
    private(set) var context: LAContext?
    private(set) var hasCredentialReference = false
    /// Whether items that would require prompting the user are omitted. `fails` says whether the
    /// call fails because of them.
    private(set) var skips = false
    private var fails = false
    private var prompt: String?

    /// Reads one of these keys.
    ///
    /// - Returns: A description of the error if the value is invalid, otherwise `nil`. The result
    ///   is also `nil` for any other key.
    mutating func read(_ key: String, _ value: DictionaryValue) -> String? {
        switch (key, value) {
        case ("u_AuthUI", .string("u_AuthUIA")): break
        case ("u_AuthUI", .string("u_AuthUIF")): fails = true
        case ("u_AuthUI", .string("u_AuthUIS")): skips = true
        case ("u_AuthUI", _): return "The value of kSecUseAuthenticationUI is unknown."
        case ("u_NoAuthUI", .boolean(let isForbidden)): if isForbidden { fails = true }
        case ("u_NoAuthUI", _): return "The value of “\(key)” is not a boolean."
        case ("u_AuthCtx", .object(let object)):
            guard let context = object as? LAContext else {
                return "The authentication context is not an LAContext."
            }
            self.context = context
        case ("u_AuthCtx", _): return "The authentication context is not an LAContext."
        case ("u_OpPrompt", .string(let text)): prompt = text
        case ("u_OpPrompt", _): return "The prompt is not text."
        case ("u_CredRef", .data): hasCredentialReference = true
        case ("u_CredRef", _): return "The credential reference is not data."
        default: break
        }
        return nil
    }

    func check(for call: ItemCall) throws(KeychainFailure) {
        if skips, call != .copyMatching {
            throw .param("Only a search can skip items that need authentication.")
        }
        if context != nil, hasCredentialReference {
            throw .param("An authentication context and a credential reference can't be combined.")
        }
    }

    var options: AuthenticationOptions {
        var options = AuthenticationOptions()
        options.context = context
        options.allowsQuestions = !fails && !skips
        options.reason = prompt
        return options
    }
}

extension RequestDictionary {
    /// The keychain of the current task, with the authentication options of this request.
    func keychain() throws(KeychainFailure) -> AuthenticatingConnection {
        try KeychainContext.current().authenticating(authentication.options)
    }
}

#endif
