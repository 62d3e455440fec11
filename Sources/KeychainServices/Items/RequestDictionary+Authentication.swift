// RequestDictionary+Authentication: what a dictionary says about asking people.

#if !canImport(Darwin)

internal import KeychainAuthentication
internal import KeychainRuntime
internal import KeychainEngine
internal import KeychainCore

/// The use keys that are about authentication.
struct AuthenticationKeys {
    private(set) var context: LAContext?
    private(set) var hasCredentialReference = false
    /// The item is left out, or the call fails, where a person would be asked.
    private(set) var skips = false
    private var fails = false
    private var prompt: String?

    /// Reads one of these keys.
    ///
    /// - Returns: What is wrong with the value; nil: nothing, or the key is another.
    mutating func read(_ key: String, _ value: DictionaryValue) -> String? {
        switch (key, value) {
        case ("u_AuthUI", .string("u_AuthUIA")): break
        case ("u_AuthUI", .string("u_AuthUIF")): fails = true
        case ("u_AuthUI", .string("u_AuthUIS")): skips = true
        case ("u_AuthUI", _): return "There is no such way of authentication."
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
        case ("u_CredRef", _): hasCredentialReference = true
        default: break
        }
        return nil
    }

    func check(for call: ItemCall) throws(KeychainFailure) {
        if skips, call != .copyMatching {
            throw .param("Only a search can skip items that need authentication.")
        }
        if context != nil, hasCredentialReference {
            throw .param("An authentication context and a credential reference exclude each other.")
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
    /// The keychain of the current task, with the person of this request in front of it.
    func keychain() throws(KeychainFailure) -> KeychainConnection {
        try KeychainContext.current().authenticating(authentication.options)
    }
}

#endif
