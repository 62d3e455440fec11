// WireStatus: in messages, a keychain as a whole and what a check of it found.

import KeychainEngine
import KeychainModel

extension WireStatus {
    init(_ status: KeychainStatus) {
        self.init()
        directory = status.directory
        formatVersion = UInt32(clamping: status.formatVersion)
        generation = status.generation
        itemCount = status.itemCount
        setAsideCount = status.setAsideCount
        hasPasscode_p = status.hasPasscode
        lockState =
            switch status.lockState {
            case .beforeFirstUnlock: .beforeFirstUnlock
            case .locked: .locked
            case .unlocked: .unlocked
            }
        isMemoryLocked = status.isMemoryLocked
        byteCount = UInt64(clamping: status.byteCount)
        deviceKeyPath = status.deviceKeyPath
        deviceKeyProtection =
            switch status.deviceKeyProtection {
            case .file: .file
            case .hardware: .hardware
            case .memory: .memory
            }
    }

    func status() throws(KeychainFailure) -> KeychainStatus {
        let lockState: LockState
        switch self.lockState {
        case .beforeFirstUnlock: lockState = .beforeFirstUnlock
        case .locked: lockState = .locked
        case .unlocked: lockState = .unlocked
        case .unspecified, .UNRECOGNIZED: throw .param("The lock state isn't known.")
        }
        let deviceKeyProtection: DeviceKeyProtection
        switch self.deviceKeyProtection {
        case .file: deviceKeyProtection = .file
        case .hardware: deviceKeyProtection = .hardware
        case .memory: deviceKeyProtection = .memory
        case .unspecified, .UNRECOGNIZED:
            throw .param("The protection of the device key isn't known.")
        }
        return KeychainStatus(
            directory: directory, formatVersion: Int(formatVersion), generation: generation,
            itemCount: itemCount, setAsideCount: setAsideCount, hasPasscode: hasPasscode_p,
            lockState: lockState, isMemoryLocked: isMemoryLocked,
            byteCount: try Int(wire: byteCount), deviceKeyPath: deviceKeyPath,
            deviceKeyProtection: deviceKeyProtection)
    }
}

extension WireReport {
    init(_ report: CheckReport) {
        self.init()
        itemCount = UInt64(clamping: report.itemCount)
        lockedCount = UInt64(clamping: report.lockedCount)
        damagedItems = report.damagedItems.map(WireDamagedItem.init)
        problems = report.problems
        damagedPages = report.damagedPages
        setAsideCount = UInt64(clamping: report.setAsideCount)
        notices = report.notices
    }

    func report() throws(KeychainFailure) -> CheckReport {
        var report = CheckReport()
        report.itemCount = try Int(wire: itemCount)
        report.lockedCount = try Int(wire: lockedCount)
        for message in damagedItems { report.damagedItems.append(try message.item()) }
        report.problems = problems
        report.damagedPages = damagedPages
        report.setAsideCount = try Int(wire: setAsideCount)
        report.notices = notices
        return report
    }
}

extension WireDamagedItem {
    fileprivate init(_ item: CheckReport.DamagedItem) {
        self.init()
        if let reference = item.reference { self.reference = reference.value.wire }
        what = item.what
    }

    fileprivate func item() throws(KeychainFailure) -> CheckReport.DamagedItem {
        CheckReport.DamagedItem(
            reference: hasReference ? ItemReference(try Bytes16(wire: reference)) : nil,
            what: what)
    }
}
