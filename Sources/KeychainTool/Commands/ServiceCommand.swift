// ServiceCommand: starts and stops the service of this user, and shows its state.
//   (1) The completed steps are shown at the end, one per line. A call of systemctl is shown with
//       its arguments.
//   (2) If the service is already in the requested state, nothing is changed, and the command
//       succeeds.

import ArgumentParser
import KeychainRuntime

struct ServiceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "service",
        abstract: "Starts, stops and shows the keychain service of this user.",
        discussion: "Without a service, every program opens the keychain itself.",
        subcommands: [
            Enable.self, Disable.self, Show.self, ServiceSocketCommand.self,
        ])

    struct Enable: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "enable",
            abstract: "Starts the service, now and at each login.",
            discussion: """
                With systemd, this installs the units keychaind.service and keychaind.socket \
                unless they are installed already, and enables the socket. Without systemd, it \
                starts keychaind in the background and shows how to start it at login. The service \
                uses the same keychain that programs have opened themselves until now. Programs \
                that are running continue to do so until they are restarted.
                """)

        @OptionGroup var options: ServiceOptions

        func run() throws {
            let service = try UserService()
            var report = ServiceReport(service, options)
            if options.usesSystemd {
                if UserUnits.installed(service.places) == nil {
                    for path in try service.installUnits() { report.add("installed \(path)") }
                    try report.run(["daemon-reload"])
                }
                try report.run(["enable", "--now", UserUnits.socketName])
                guard service.answersSoon() else {
                    throw ControlFailure(
                        .failure,
                        "systemd was told to listen at \(service.socket), but nothing listens "
                            + "there. See `systemctl --user status \(UserUnits.socketName)` for "
                            + "the reason.")
                }
            } else if !service.isRunning, let process = try service.start() {
                report.add("started keychaind in the background, process \(process)")
            } else {
                report.add("nothing: the service is already running")
            }
            try report.show(isEnabled: true)
        }
    }

    struct Disable: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "disable",
            abstract: "Stops the service, and no longer starts it at login.",
            discussion: """
                Programs that are started afterwards open the keychain themselves. If your login \
                script starts the service, remove that line.
                """)

        @OptionGroup var options: ServiceOptions

        func run() throws {
            let service = try UserService()
            var report = ServiceReport(service, options)
            if options.usesSystemd {
                try report.run(
                    ["disable", "--now", UserUnits.socketName, UserUnits.serviceName])
            } else if let process = try service.stop() {
                report.add("stopped keychaind, process \(process)")
            } else {
                report.add("nothing: the service is not running")
            }
            try report.show(isEnabled: false)
        }
    }

    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "status",
            abstract: "Shows whether the service is running, and where it listens.")

        @OptionGroup var options: ServiceOptions

        func run() throws {
            try ServiceReport(try UserService(), options).show(isEnabled: false)
        }
    }
}

/// The options of the subcommands `enable`, `disable` and `status`.
struct ServiceOptions: ParsableArguments {
    enum Manager: String, ExpressibleByArgument, CaseIterable {
        case systemd, none
    }

    @Option(
        help: ArgumentHelp(
            "The service manager: systemd or none.",
            discussion: "Default: systemd if this machine runs it."))
    var manager: Manager?

    @Flag(help: "Writes a JSON object.")
    var json = false

    var usesSystemd: Bool { manager.map { $0 == .systemd } ?? UserService.isManagedBySystemd }
}

// MARK: - Report

/// The completed steps and the resulting state.
private struct ServiceReport {
    private let service: UserService
    private let options: ServiceOptions
    private var steps: [String] = []

    init(_ service: UserService, _ options: ServiceOptions) {
        self.service = service
        self.options = options
    }

    mutating func add(_ step: String) { steps.append(step) }

    mutating func run(_ arguments: [String]) throws(ControlFailure) {
        try service.systemctl(arguments)
        add("ran systemctl --user " + arguments.joined(separator: " "))
    }

    func show(isEnabled: Bool) throws {
        let isRunning = service.isRunning
        let choice = Result { try KeychainChoice(ChoiceContext()) }
        var fields = steps.map { Self.field("done", $0) }
        fields += [
            Self.field("running", isRunning ? "yes" : "no", .bool(isRunning)),
            Self.field("manager", options.usesSystemd ? "systemd" : "none"),
            Self.field("socket", service.socket),
        ]
        if !options.usesSystemd { fields.append(Self.field("log", service.log)) }
        if isEnabled { fields.append(Self.field("at login", atLogin)) }
        let words =
            switch choice {
            case .success(let choice) where choice.mode == .service(socket: service.socket):
                "use this service"
            case .success(let choice): "don't use this service; chosen by \(choice.reason)"
            case .failure(let failure): "\(failure)"
            }
        fields.append(Self.field("programs", words))
        if options.json {
            let others = fields.dropFirst(steps.count).map { ($0.key, $0.json) }
            let done = ("done", JSON.array(steps.map { .string($0) }))
            return try Output.print(JSON.object([done] + others).text)
        }
        try Output.print(table(fields.map { [$0.label + ":", $0.text] }))
    }

    private var atLogin: String {
        options.usesSystemd
            ? "systemd listens; with `loginctl enable-linger` also without a login, for example "
                + "for cron"
            : "add this line to ~/.profile: "
                + "\(EmbeddedKeychain.executablePath ?? "keychainctl") service enable"
    }

    private static func field(_ label: String, _ text: String, _ json: JSON? = nil) -> ItemField {
        ItemField(
            label: label, key: label == "at login" ? "atLogin" : label, text: printable(text),
            json: json ?? .string(text))
    }
}
