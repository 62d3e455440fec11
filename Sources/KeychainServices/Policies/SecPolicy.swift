// SecPolicy: what a certificate is to be good for, the identifiers of policies and the keys of
// their properties.
//   (1) A policy never changes, and two with the same demands are equal.
//   (2) What a policy demands of the certificate itself stands in SecPolicy+Demands.swift, what it
//       demands of the chain in Trust/ChainPolicy.swift.
//
// SAFETY: every constant here is an immutable string that is never replaced, so any thread may read
// it. `@safe` keeps that promise out of the caller's code.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation

/// What a certificate is to be good for.
///
/// Make one with ``SecPolicyCreateBasicX509()``, ``SecPolicyCreateSSL(_:_:)`` or
/// ``SecPolicyCreateWithProperties(_:_:)`` and give it to a ``SecTrust``, or to a search as
/// ``kSecMatchPolicy``. It corresponds to `SecPolicyRef`; equality is by content.
public final class SecPolicy: NSObject, Sendable {
    /// The purposes there are.
    enum Purpose: Hashable, Sendable {
        /// Any: the chain alone is judged.
        case basic
        /// A server of secure connections, under this host name or IP address where there is one.
        case server(name: String?)
        /// A client of secure connections, under this host name where there is one.
        case client(name: String?)
        /// Mail, to or from this address where there is one.
        case mail(address: String?)
    }

    let purpose: Purpose

    init(_ purpose: Purpose) {
        self.purpose = purpose
    }

    /// Equality by content.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? SecPolicy)?.purpose == purpose
    }

    /// A hash of the content.
    public override var hash: Int {
        purpose.hashValue
    }

    /// The identifier of the policy.
    public override var description: String {
        "<SecPolicy: \(identifier)>"
    }

    /// The identifier, one of the `kSecPolicyApple…` constants.
    var identifier: CFString {
        switch purpose {
        case .basic: kSecPolicyAppleX509Basic
        case .server, .client: kSecPolicyAppleSSL
        case .mail: kSecPolicyAppleSMIME
        }
    }
}

extension SecPolicy: CoreFoundationTyped {
    package static let coreFoundationType = CoreFoundationType.policy
}

/// Makes the policy that judges the chain alone: signatures, validity, and who may be an authority.
///
/// It corresponds to the function of the same name.
public func SecPolicyCreateBasicX509() -> SecPolicy {
    SecPolicy(.basic)
}

/// Makes the policy of secure connections.
///
/// - Parameters:
///   - server: Whether the certificate is a server's; otherwise it is a client's.
///   - hostname: The host name or IP address that the certificate must have among its alternative
///     names; the common name doesn't count. Nil: any.
/// - Returns: The policy.
///
/// It corresponds to the function of the same name.
public func SecPolicyCreateSSL(_ server: Bool, _ hostname: CFString?) -> SecPolicy {
    let name = hostname.map { $0 as String }
    return SecPolicy(server ? .server(name: name) : .client(name: name))
}

/// Makes a policy by its identifier.
///
/// - Parameters:
///   - policyIdentifier: ``kSecPolicyAppleX509Basic``, ``kSecPolicyAppleSSL`` or
///     ``kSecPolicyAppleSMIME``.
///   - properties: ``kSecPolicyName`` and ``kSecPolicyClient``. Other keys are ignored, as are
///     those that mean nothing to the policy.
/// - Returns: The policy, or nil if the identifier is another one or a property isn't of the kind
///   that it should be.
///
/// It corresponds to the function of the same name, which knows more policies.
public func SecPolicyCreateWithProperties(
    _ policyIdentifier: CFTypeRef, _ properties: CFDictionary?
) -> SecPolicy? {
    guard let identifier = policyIdentifier as? NSString else { return nil }
    let properties = PolicyProperties(properties ?? [:])
    guard let properties else { return nil }
    switch identifier {
    case kSecPolicyAppleX509Basic:
        return SecPolicy(.basic)
    case kSecPolicyAppleSSL:
        return SecPolicy(
            properties.isClient ? .client(name: properties.name) : .server(name: properties.name))
    case kSecPolicyAppleSMIME:
        return SecPolicy(.mail(address: properties.name))
    default:
        return nil
    }
}

/// Returns what a policy was made from.
///
/// - Returns: ``kSecPolicyOid`` and, where they are set, ``kSecPolicyName`` and
///   ``kSecPolicyClient``. Never nil.
///
/// It corresponds to the function of the same name.
public func SecPolicyCopyProperties(_ policyRef: SecPolicy) -> CFDictionary? {
    var properties: [String: Any] = [kSecPolicyOid as String: policyRef.identifier]
    switch policyRef.purpose {
    case .basic:
        break
    case .server(let name), .mail(let name):
        properties[kSecPolicyName as String] = name
    case .client(let name):
        properties[kSecPolicyName as String] = name
        properties[kSecPolicyClient as String] = kCFBooleanTrue
    }
    return properties as NSDictionary
}

/// Returns the identifier of policies, for comparison with ``CFGetTypeID(_:)``.
public func SecPolicyGetTypeID() -> CFTypeID {
    CoreFoundationType.policy.rawValue
}

/// The properties that a policy can be made from.
private struct PolicyProperties {
    var name: String?
    var isClient = false

    /// - Returns: nil if a property isn't of the kind that it should be.
    init?(_ dictionary: NSDictionary) {
        if let value = dictionary[kSecPolicyName] {
            guard case .string(let name) = DictionaryValue(value) else { return nil }
            self.name = name
        }
        if let value = dictionary[kSecPolicyClient] {
            guard case .boolean(let isClient) = DictionaryValue(value) else { return nil }
            self.isClient = isClient
        }
    }
}

// MARK: - Constants

/// The policy of ``SecPolicyCreateBasicX509()``.
@safe
public nonisolated(unsafe) let kSecPolicyAppleX509Basic: CFString = "1.2.840.113635.100.1.2"

/// The policy of ``SecPolicyCreateSSL(_:_:)``.
@safe public nonisolated(unsafe) let kSecPolicyAppleSSL: CFString = "1.2.840.113635.100.1.3"

/// The policy of certificates that sign and encrypt mail.
@safe public nonisolated(unsafe) let kSecPolicyAppleSMIME: CFString = "1.2.840.113635.100.1.8"

/// The identifier of a policy among its properties. A string.
@safe public nonisolated(unsafe) let kSecPolicyOid: CFString = "SecPolicyOid"

/// The name that the certificate must have: a host name or IP address for a secure connection, a
/// mail address for mail. A string.
@safe public nonisolated(unsafe) let kSecPolicyName: CFString = "SecPolicyName"

/// Whether the certificate is a client's instead of a server's. A boolean.
@safe public nonisolated(unsafe) let kSecPolicyClient: CFString = "SecPolicyClient"

#endif
