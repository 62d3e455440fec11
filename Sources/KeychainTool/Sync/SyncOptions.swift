// SyncOptions: the options that the subcommands of `sync` share. Also durations and moments.

#if Synchronization

import ArgumentParser
import FoundationEssentials
import KeychainSynchronization

struct SyncOptions: ParsableArguments {
    @Option(
        name: .customLong("config"),
        help: ArgumentHelp(
            "Reads the settings of the server from this file. The default is keychain/sync.json "
                + "in $XDG_CONFIG_HOME or ~/.config.",
            valueName: "path"))
    var configurationPath: String?

    @OptionGroup var passcode: PasscodeOptions

    func configuration() throws -> SyncConfiguration {
        try SyncConfiguration(path: configurationPath ?? SyncConfiguration.standardPath())
    }
}

/// The name of a machine.
struct SyncNameOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The name of the machine, which `keychainctl sync members` shows.", valueName: "name"))
    var name: String

    func validate() throws {
        guard CircleKey.isName(name) else { throw ValidationError(CircleKey.nameRule) }
    }
}

/// The access groups that a machine may have.
struct SyncGroupOptions: ParsableArguments {
    @Option(
        name: [.customShort("g"), .customLong("group")],
        help: ArgumentHelp(
            "The machine gets the items of this access group only. May be repeated. Without it, "
                + "the machine gets all items, and can approve and remove machines.",
            valueName: "name"))
    var groups: [String] = []

    /// `nil` for all groups.
    var names: [String]? { groups.isEmpty ? nil : groups }
}

/// A duration as the user writes it: a number and `s`, `m`, `h` or `d`, from 1 second to 366 days.
struct SyncDuration: ExpressibleByArgument {
    let seconds: Int64

    private static let longest: Int64 = 366 * 86_400

    init?(argument: String) {
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        guard let unit = argument.last.flatMap({ units[$0] }),
            let number = Int64(argument.dropLast()), (1...Self.longest).contains(number),
            number * unit <= Self.longest
        else { return nil }
        seconds = number * unit
    }
}

/// Moments as synchronization counts them: in milliseconds since 1970-01-01 00:00:00 UTC.
enum SyncMoment {
    static var now: Int64 { Int64((Date().timeIntervalSince1970 * 1000).rounded()) }

    /// The moment in seconds since 2001-01-01 00:00:00 UTC.
    static func seconds(_ moment: Int64) -> Double {
        Double(moment) / 1000 - Date.timeIntervalBetween1970AndReferenceDate
    }

    /// How long ago a moment was, in the largest fitting unit, such as `5 minutes ago`.
    static func age(_ moment: Int64, now: Int64) -> String {
        // Calculate in floating point: a member can write any number as the moment, so a difference
        // of integers could overflow.
        let seconds = Int(min(max((Double(now) - Double(moment)) / 1000, 0), 1e15))
        return switch seconds {
        case ..<60: "less than a minute ago"
        case ..<3600: "\(counted(seconds / 60, "minute")) ago"
        case ..<86_400: "\(counted(seconds / 3600, "hour")) ago"
        default: "\(counted(seconds / 86_400, "day")) ago"
        }
    }
}

#endif
