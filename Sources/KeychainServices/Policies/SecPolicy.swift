// SecPolicy: the purpose for which a certificate is evaluated, the identifiers of policies and the
// keys of their properties.
//   (1) A policy is immutable, and two policies with the same purpose are equal.
//   (2) The requirements for the certificate itself, and for the extended key usage of intermediate
//       authorities, are in SecPolicy+Demands.swift. The other requirements for the chain are in
//       Trust/ChainPolicy.swift.
//
// SAFETY: every constant here is an immutable string that is never replaced, so any thread may read
// it. With `@safe`, callers need no `unsafe`.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation

/// The purpose for which a certificate is evaluated.
///
/// Create one with ``SecPolicyCreateBasicX509()``, ``SecPolicyCreateSSL(_:_:)`` or
/// ``SecPolicyCreateWithProperties(_:_:)`` and pass it to a ``SecTrust``, or to a search as
/// ``kSecMatchPolicy``. It corresponds to `SecPolicyRef`; equality is by content.
public final class SecPolicy: NSObject, Sendable {
    /// The supported purposes.
    enum Purpose: Hashable, Sendable {
        /// Any purpose: only the chain is evaluated.
        case basic
        /// A TLS server, with this host name or IP address, if there is one.
        case server(name: String?)
        /// A TLS client, with this host name or IP address, if there is one.
        case client(name: String?)
        /// Email, with this address, if there is one.
        case mail(address: String?)
    }

    let purpose: Purpose

    init(_ purpose: Purpose) {
        self.purpose = purpose
    }

    /// Whether the other object is a policy with the same purpose.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? SecPolicy)?.purpose == purpose
    }

    /// A hash of the contents.
    public override var hash: Int {
        purpose.hashValue
    }

    /// Contains the identifier of the policy.
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

/// Creates the policy that evaluates only the chain: signatures, algorithms and key sizes, validity
/// periods, and which certificates may be certificate authorities.
///
/// It corresponds to Apple's function of the same name.
public func SecPolicyCreateBasicX509() -> SecPolicy {
    SecPolicy(.basic)
}

/// Creates the policy for TLS.
///
/// - Parameters:
///   - server: Whether the certificate is a server's; otherwise it is a client's.
///   - hostname: The host name or IP address that must be among the certificate's alternative
///     names; the common name is ignored. `nil` accepts any name.
/// - Returns: The policy.
///
/// It corresponds to Apple's function of the same name.
public func SecPolicyCreateSSL(_ server: Bool, _ hostname: CFString?) -> SecPolicy {
    let name = hostname.map { $0 as String }
    return SecPolicy(server ? .server(name: name) : .client(name: name))
}

/// Creates a policy from its identifier.
///
/// - Parameters:
///   - policyIdentifier: ``kSecPolicyAppleX509Basic``, ``kSecPolicyAppleSSL`` or
///     ``kSecPolicyAppleSMIME``.
///   - properties: ``kSecPolicyName`` and ``kSecPolicyClient``. A property that doesn't apply to
///     the policy has no effect. Other keys are ignored.
/// - Returns: The policy, or `nil` if the identifier is none of these or one of the two properties
///   has the wrong type, whether or not it applies to the policy.
///
/// It corresponds to Apple's function of the same name, which supports more policies.
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

/// Returns the properties of a policy.
///
/// - Returns: ``kSecPolicyOid`` and, where they are set, ``kSecPolicyName`` and
///   ``kSecPolicyClient``. Never `nil`.
///
/// It corresponds to Apple's function of the same name.
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

/// Returns the type identifier of policies, for comparison with ``CFGetTypeID(_:)``.
public func SecPolicyGetTypeID() -> CFTypeID {
    CoreFoundationType.policy.rawValue
}

/// The properties from which a policy can be created.
private struct PolicyProperties {
    var name: String?
    var isClient = false

    /// - Returns: `nil` if a property has the wrong type.
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

/// The policy for certificates that sign and encrypt email.
@safe public nonisolated(unsafe) let kSecPolicyAppleSMIME: CFString = "1.2.840.113635.100.1.8"

/// The identifier of the policy, one of the `kSecPolicyApple…` constants. String.
@safe public nonisolated(unsafe) let kSecPolicyOid: CFString = "SecPolicyOid"

/// The name that the certificate must contain: a host name or IP address for TLS, an email address
/// for email. String.
@safe public nonisolated(unsafe) let kSecPolicyName: CFString = "SecPolicyName"

/// Whether the certificate is a client's instead of a server's. Boolean.
@safe public nonisolated(unsafe) let kSecPolicyClient: CFString = "SecPolicyClient"

#endif
