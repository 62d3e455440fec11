// HelperLink: the link by whose name another program finds this one.
//   (1) Where the PATH leads to this program by that name already, none is made. Otherwise it is made
//       in ~/.local/bin, where the Debian package puts nothing: `keyring` is also the name of another
//       package's program.
//   (2) What has the name and is no link to this program is never replaced or removed.

import FoundationEssentials
import Glibc
import KeychainCrypto
import KeychainRuntime

struct HelperLink {
    let name: String
    let place: String
    private let path: String?
    private let executable: String

    /// A link to this program, whose file is `executable`.
    init(_ name: String, home: String, path: String?, executable: String) {
        self.name = name
        place = home + "/.local/bin/" + name
        self.path = path
        self.executable = executable
    }

    /// The file that a path leads to, behind all links.
    private static func file(at path: String) -> String? {
        Files.locate(path).flatMap { Files.target(ofLink: "/proc/self/fd/\($0.number)") }
    }

    /// What the PATH leads to by a name.
    private func found(_ name: String) -> String? { ProgramStart.find(name, in: path) }

    private func leadsHere(_ path: String) -> Bool { Self.file(at: path) == executable }

    /// Where keychainctl is found, so that an update of it is followed, or else its file.
    private var target: String {
        found("keychainctl").flatMap { $0.hasPrefix("/") && leadsHere($0) ? $0 : nil }
            ?? executable
    }

    /// nil: there is nothing to do.
    func making() throws(ControlFailure) -> SetupStep? {
        if found(name).map(leadsHere) == true { return nil }
        guard Files.status(ofLink: place) == nil else {
            guard !leadsHere(place) else { return nil }
            throw ControlFailure(
                .exists,
                "\(printable(place)) is there and is another program. Nothing was changed. Move it "
                    + "away, or call keychainctl by another link of that name.")
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

    /// nil: there is nothing to do.
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

    /// What keeps the link from being found, once it is there; nil where nothing does.
    var obstacle: String? {
        let found = found(name)
        if found.map(leadsHere) == true { return nil }
        let folder = String(place.dropLast(name.count + 1))
        let folders = (path ?? "").split(separator: ":").map(String.init)
        let other = found.flatMap { found in
            folders.firstIndex { found == "\($0)/\(name)" }
        }
        let own = folders.firstIndex(of: folder)
        switch (own, other, found) {
        case (let own?, let other?, _) where own < other: return nil
        case (_?, nil, nil): return nil
        case (_, _, let found?) where found != place:
            return "\(name) in your PATH is \(printable(found)), another program: put "
                + "\(printable(folder)) before its folder."
        default: return "\(printable(folder)) is not in your PATH. Add it."
        }
    }
}
