// systems-benchmarks: measures saving and loading in the programs whose specifications define a
// limit. The benchmark prints a row for each limit and exits with status 1 if a limit is missed. It
// creates a temporary keychain in the current folder, and removes it at the end.
//
// Each figure is the median of many calls. The keychain is on disk, where a save is durable when
// it returns. The median is robust against noise: a limit is missed only if at least half of all
// calls are too slow.

import Capture
import CryptoKit
import Foundation
import TVRemote

/// One row: a closure to measure, and the limit for its median duration.
struct Limit {
    let name: String
    let milliseconds: Double
    let body: () throws -> Void

    /// The median duration in milliseconds.
    func median(of count: Int = 201) throws -> Double {
        for _ in 0..<20 { try body() }
        let clock = ContinuousClock()
        let durations = try (0..<count).map { _ in try clock.measure(body) }.sorted()
        return durations[count / 2] / .milliseconds(1)
    }
}

let folder = URL(filePath: ".systems-benchmarks-\(UUID().uuidString)").standardizedFileURL
setenv("KEYCHAIN_SERVICE", "embedded", 1)
setenv("KEYCHAIN_DIRECTORY", folder.path, 1)

let capture = Capture.KeychainService()
let key = CryptoService.generateKey()
let data = Data("a value of the capture app".utf8)
let state = DeviceState(
    deviceId: UUID().uuidString, attestationKeyId: nil, attestationLevel: .unverified,
    hasLidar: false, deviceModel: "benchmark", registeredAt: Date(timeIntervalSince1970: 0))
let remote = TVRemote.KeychainManager()
let service = "com.DaraConsultingInc.LGTVRemoteWidget.test"
let credentials = TVCredentials(
    ipAddress: "10.0.0.14", macAddress: "34:E6:E6:F9:05:50",
    clientKey: "9ba71d29c353cf0bdcc00c4b0a8cc189")

/// Each name begins with that of the program.
let limits = [
    // The specification of Capture states these limits for tests with these names.
    Limit(name: "Capture testPerformance_Save", milliseconds: 2.76) {
        try capture.save(data, forKey: "benchmark")
    },
    Limit(name: "Capture testPerformance_Load", milliseconds: 2.64) {
        _ = try capture.load(forKey: "benchmark")
    },
    Limit(name: "Capture testPerformance_SymmetricKeyRoundTrip", milliseconds: 3.09) {
        try capture.saveSymmetricKey(key, forKey: "benchmark.key")
        _ = try capture.loadSymmetricKey(forKey: "benchmark.key")
    },
    // The specifications limit each storage operation to less than 10 ms, and serialization to less
    // than 1 ms.
    Limit(name: "Capture device state, saved", milliseconds: 10) {
        try capture.saveDeviceState(state)
    },
    Limit(name: "Capture device state, loaded", milliseconds: 10) {
        _ = try capture.loadDeviceState()
    },
    Limit(name: "Capture serialization of a key", milliseconds: 1) {
        _ = try CryptoService.keyFromData(CryptoService.keyToData(key))
    },
    Limit(name: "Capture serialization of a device state", milliseconds: 1) {
        // Use the program's date format, because dates take most of the time.
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = .sortedKeys
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        _ = try decoder.decode(DeviceState.self, from: encoder.encode(state))
    },
    Limit(name: "TVRemote credentials, saved", milliseconds: 10) {
        try remote.save(credentials, service: service, account: "default")
    },
    Limit(name: "TVRemote credentials, loaded", milliseconds: 10) {
        _ = try remote.load(TVCredentials.self, service: service, account: "default")
    },
    Limit(name: "TVRemote credentials, deleted and saved", milliseconds: 20) {
        try remote.delete(service: service, account: "default")
        try remote.save(credentials, service: service, account: "default")
    },
]

/// Prints the rows and returns the number of limits that are missed.
func measure(_ limits: [Limit]) throws -> Int {
    // The top-level code ends with `exit`, so a `defer` there would not be executed.
    defer { try? FileManager.default.removeItem(at: folder) }
    var missed = 0
    for limit in limits {
        let median = try limit.median()
        let isMet = median < limit.milliseconds
        if !isMet { missed += 1 }
        let name = limit.name.padding(toLength: 48, withPad: " ", startingAt: 0)
        print(
            "  \(name)", String(format: "%8.3f ms, limit %5.2f ms", median, limit.milliseconds),
            isMet ? "" : "MISSED")
    }
    return missed
}

print("Limits that the specifications of Capture and TVRemote name, median of 201 calls")
let missed = try measure(limits)
print(missed == 0 ? "Every limit is met." : "\(missed) of \(limits.count) limits are missed.")
exit(missed == 0 ? 0 : 1)
