// AWSCredentialFile: parses `~/.aws/credentials`, in which AWS's tools store access keys: names of
// profiles in brackets, each followed by lines NAME = VALUE.
//   (1) A profile becomes one item. Its secret is the JSON that a `credential_process` has to
//       return, so `keychainctl helper aws` can return the secret unchanged.
//   (2) A profile without a secret access key contains no secret, and is skipped. A secret access
//       key without an access key ID is an error.

import FoundationEssentials

enum AWSCredentialFile {
    /// The JSON described in the AWS CLI's user guide for `credential_process`.
    struct Credentials: Codable {
        var version = 1
        var accessKeyID: String?
        var secretAccessKey: String?
        var sessionToken: String?
        /// The expiration time, in RFC 3339, or `nil` if the credentials don't expire.
        /// `~/.aws/credentials` contains no expiration time.
        var expiration: String?

        enum CodingKeys: String, CodingKey {
            case version = "Version"
            case accessKeyID = "AccessKeyId"
            case secretAccessKey = "SecretAccessKey"
            case sessionToken = "SessionToken"
            case expiration = "Expiration"
        }
    }

    private struct Profile {
        let name: String
        let line: Int
        var credentials = Credentials()
    }

    static func items(in text: String) throws(ImportProblem) -> [ImportedItem] {
        var profiles: [Profile] = []
        for (index, whole) in text.lines.enumerated() {
            let isIndented = whole.utf8.first == 0x20 || whole.utf8.first == 0x09
            let line = trimmed(whole)
            guard !line.isEmpty, !line.hasPrefix("#"), !line.hasPrefix(";") else { continue }
            if line.hasPrefix("["), line.hasSuffix("]") {
                let name = trimmed(line.dropFirst().dropLast())
                profiles.append(Profile(name: String(name), line: index + 1))
                continue
            }
            // An indented line is a nested setting of an AWS service, and is ignored.
            if isIndented { continue }
            guard let setting = line.split(atFirst: "="), !profiles.isEmpty else {
                throw ImportProblem(
                    line: index + 1,
                    text: "The line is neither [PROFILE] nor NAME = VALUE below a "
                        + "profile.")
            }
            let value = String(trimmed(setting.after))
            let last = profiles.count - 1
            switch trimmed(setting.before).lowercased() {
            case "aws_access_key_id": profiles[last].credentials.accessKeyID = value
            case "aws_secret_access_key": profiles[last].credentials.secretAccessKey = value
            case "aws_session_token": profiles[last].credentials.sessionToken = value
            default: break
            }
        }
        var items: [ImportedItem] = []
        for profile in profiles where profile.credentials.secretAccessKey != nil {
            guard profile.credentials.accessKeyID != nil,
                let json = try? DockerCredential.json(profile.credentials)
            else {
                throw ImportProblem(
                    line: profile.line, text: "The profile has no aws_access_key_id.")
            }
            items.append(
                ImportedItem(
                    service: "aws", account: profile.name, secret: json, line: profile.line))
        }
        return items
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text.drop(while: \.isWhitespace)
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }
}
