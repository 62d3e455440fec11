// ChipAccess: this process's only connection to a TPM chip, with retries while other programs use
// it.
//   (1) One operation runs at a time, under a lock that is held for the whole operation.
//   (2) If a connection proves to be broken during an operation, it is reopened, and the operation
//       is retried, at most once per operation. An operation stores nothing in the chip, so it can
//       be retried as a whole.

#if TPM

import Glibc
import KeychainCrypto
import KeychainCore
import Synchronization

final class ChipAccess: Sendable {
    /// An operation under one of the chip's storage keys.
    typealias Operation<Value> = (inout ChipOperation) throws(ResponseFailure) -> Value

    private let configuration: String
    private let patience: Duration
    private let connection = Mutex<TSSConnection?>(nil)

    /// - Parameters:
    ///   - configuration: The TCTI configuration, in the syntax of tpm2-tss.
    ///   - patience: How long to wait while other programs use the chip.
    init(configuration: String, patience: Duration) {
        self.configuration = configuration
        self.patience = patience
    }

    /// Carries out an operation under the first storage key with which it succeeds. If `names` is
    /// not `nil`, the storage key must have one of these names.
    func perform<Value: Sendable>(
        named names: [[UInt8]]?, _ operation: Operation<Value>
    ) throws(KeychainFailure) -> Value {
        try query { connection throws(ResponseFailure) in
            try Self.underAnyStorageKey(connection, names, operation)
        }
    }

    /// Runs a query on the connection, with retries. The query itself chooses a storage key if it
    /// needs one.
    func query<Value: Sendable>(
        _ question: (TSSConnection) throws(ResponseFailure) -> Value
    ) throws(KeychainFailure) -> Value {
        let library = try TSSLibrary.ofThisSystem.get()
        let result = connection.withLock { connection in
            repeating(&connection, library, question)
        }
        // The library frees authorizations and secrets without erasing them.
        MemoryScrubber.eraseFreedMemory()
        switch result {
        case .success(let value): return value
        case .failure(let failure):
            throw KeychainFailure(failure, text: library.text(failure.code))
        }
    }

    // MARK: Choice of the storage key

    private static func underAnyStorageKey<Value>(
        _ connection: TSSConnection, _ names: [[UInt8]]?, _ operation: Operation<Value>
    ) throws(ResponseFailure) -> Value {
        var failures: [ResponseFailure] = []
        for key in try ChipOperation.storageKeys(connection) {
            do throws(ResponseFailure) {
                var begun = try ChipOperation(beginningOn: connection, key, named: names)
                defer { begun.end() }
                return try operation(&begun)
            } catch {
                guard error.isOfStorageKey else { throw error }
                failures.append(error)
            }
        }
        // The failure of a storage key that had the right name is more informative.
        throw failures.last { $0.meaning != .otherChip } ?? failures.last
            ?? ResponseFailure(code: TSSConnection.wrongSize, command: .readStorageKey)
    }

    // MARK: Retries

    private func repeating<Value>(
        _ connection: inout TSSConnection?, _ library: TSSLibrary,
        _ question: (TSSConnection) throws(ResponseFailure) -> Value
    ) -> Result<Value, ResponseFailure> {
        let end = ContinuousClock.now + patience
        var isReopened = false
        var wait: UInt32 = 2000
        while true {
            let hadConnection = connection != nil
            let result = once(&connection, library, question)
            guard case .failure(let failure) = result else { return result }
            switch failure.meaning {
            case .broken:
                connection = nil
                guard hadConnection, !isReopened else { return result }
                isReopened = true
            case .busy:
                guard ContinuousClock.now < end else { return result }
                // The delay is random, so that two processes don't collide repeatedly.
                usleep(.random(in: 1000...wait))
                wait = min(2 * wait, 64000)
            default: return result
            }
        }
    }

    private func once<Value>(
        _ connection: inout TSSConnection?, _ library: TSSLibrary,
        _ question: (TSSConnection) throws(ResponseFailure) -> Value
    ) -> Result<Value, ResponseFailure> {
        Result { () throws(ResponseFailure) in
            if connection?.isOfThisProcess != true {
                connection = try TSSConnection(library, configuration: configuration)
            }
            guard let connection else {
                throw ResponseFailure(code: TSSConnection.wrongSize, command: .connect)
            }
            return try question(connection)
        }
    }
}

extension ResponseFailure {
    /// Whether the operation may succeed under another storage key.
    fileprivate var isOfStorageKey: Bool {
        switch (command, meaning) {
        case (_, .busy), (_, .broken), (_, .lockedOut): false
        case (.create, _), (.load, _), (.readStorageKey, _), (.startSession, _),
            (.compareStorageKey, _):
            true
        default: false
        }
    }
}

#endif
