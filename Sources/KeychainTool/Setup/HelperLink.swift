// HelperLink: a link to keychainctl, with the name under which another program looks for a helper.
//   (1) If the name in the PATH already leads to this program, no link is created. Otherwise the
//       link is created in ~/.local/bin. The Debian package installs no such links, because
//       `keyring` is also the name of another package's program.
//   (2) A file that has the name and is not a link to this program is never replaced or removed.

import FoundationEssentials
import Glibc
import KeychainCrypto
import KeychainRuntime

struct HelperLink {
    let name: String
    let place: String
    private let path: String?
    private let executable: String

    /// Describes a link to this program, whose file is `executable`. Creates nothing.
    init(_ name: String, home: String, path: String?, executable: String) {
        self.name = name
        place = home + "/.local/bin/" + name
        self.path = path
        self.executable = executable
    }

    /// The file that a path leads to, with all links resolved.
    private static func file(at path: String) -> String? {
        Files.locate(path).flatMap { Files.target(ofLink: "/proc/self/fd/\($0.number)") }
    }

    /// The path of the program that is found in the PATH under a name.
    private func found(_ name: String) -> String? { ProgramStart.find(name, in: path) }

    private func leadsHere(_ path: String) -> Bool { Self.file(at: path) == executable }

    /// The target of the link: the path of keychainctl in the PATH if that path is absolute and
    /// leads to this program, because it then also leads to updated versions; otherwise this
    /// program's file.
    private var target: String {
        found("keychainctl").flatMap { $0.hasPrefix("/") && leadsHere($0) ? $0 : nil }
            ?? executable
    }

    /// The step that creates the link, or `nil` if nothing needs to be done.
    func making() throws(ControlFailure) -> SetupStep? {
        if found(name).map(leadsHere) == true { return nil }
        guard Files.status(ofLink: place) == nil else {
            guard !leadsHere(place) else { return nil }
            throw ControlFailure(
                .exists,
                "\(printable(place)) exists and doesn't lead to this program. Nothing was changed. "
                    + "Move it away, or create a link to keychainctl with that name in another "
                    + "folder of the PATH.")
        }
        let target = target
        return SetupStep(shown: "\(printable(place)):\n  + link to \(printable(target))") {
            let folder = String(place.dropLast(name.count + 1))
            try ConfigurationFile.makeFolder(folder, mode: 0o755)
            do {
                try FileManager.default.createSymbolicLink(
                    atPath: place, withDestinationPath: target)
            } catch {
                throw ControlFailure(
                    .failure, "Can't create the link \(printable(place)): \(errorText(errno)).")
            }
        }
    }

    /// The step that removes the link, or `nil` if nothing needs to be done.
    func removing() -> SetupStep? {
        guard let target = Files.target(ofLink: place), leadsHere(place) || target == self.target
        else { return nil }
        return SetupStep(shown: "\(printable(place)):\n  - link to \(printable(target))") {
            guard Files.remove(place) else {
                throw ControlFailure(
                    .failure, "Can't remove the link \(printable(place)): \(errorText(errno)).")
            }
        }
    }

    /// The problem that keeps the link from being found once it exists, or `nil` if there is none.
    var obstacle: String? {
        let found = found(name)
        if found.map(leadsHere) == true { return nil }
        let folder = String(place.dropLast(name.count + 1))
        let folders = (path ?? "").split(separator: ":").map(String.init)
        let other = found.flatMap { found in
            folders.firstIndex { found == "\($0)/\(name)" }
        }
        let own = folders.firstIndex { $0 == folder || $0 == folder + "/" }
        switch (own, other, found) {
        case (let own?, let other?, _) where own < other: return nil
        case (_?, nil, nil): return nil
        case (_, _, let found?) where found != place:
            return "\(name) in your PATH is \(printable(found)), another program. In the "
                + "PATH, put \(printable(folder)) before the folder of that program."
        default: return "\(printable(folder)) is not in your PATH. Add it."
        }
    }
}
