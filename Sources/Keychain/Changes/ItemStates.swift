// ItemStates: the sequence of what becomes of one secret.

import Foundation

extension Keychain {
    /// What becomes of one secret, from now on.
    ///
    /// ```swift
    /// for await state in keychain.changes(of: .token) {
    ///     switch state {
    ///     case .value(let token): connect(with: token)
    ///     case .absent: disconnect()
    ///     case .unavailable(let error): show(error)
    ///     }
    /// }
    /// ```
    ///
    /// - The first element is the present state, so that nothing is missed between a load and
    ///   the beginning of the sequence.
    /// - After a change the new state follows. Changes that come faster than the elements are
    ///   taken are merged: the next element is the state by then. The last state always comes. A
    ///   slow consumer holds up no writer and no memory.
    /// - A save of the value that was there is a change too.
    /// - No person is asked: an item under an ``AccessControl`` can't be read here.
    /// - While the item can't be read, as it is locked, damaged or no such value, one element says
    ///   so for each reason. Once it can be read again, its state follows, also if it is the same
    ///   as before.
    /// - The sequence ends when its task is cancelled, and never otherwise.
    ///
    /// On Linux changes are those of every process. The system of Apple platforms tells of none:
    /// there the elements follow the changes that this process makes with this package, and a
    /// lock or another process's change is seen along with the next of these. Everywhere, an item
    /// that can't be read is tried again every two seconds.
    ///
    /// The secret is read when the item was changed, and not when others were. Each iteration
    /// follows by itself, and nothing is opened or read before it begins. All work is done on
    /// threads of the keychain's own.
    ///
    /// - Parameter key: The name of the secret.
    /// - Returns: A sequence that can be iterated any number of times.
    ///
    /// There is no corresponding call in Apple's API.
    public func changes<Value: Sendable>(of key: KeychainKey<Value>) -> ItemStates<Value> {
        ItemStates(keychain: self, key: key)
    }

    /// The sequence that `changes(of:)` gives.
    public struct ItemStates<Value: Sendable>: AsyncSequence, Sendable {
        /// A state of the secret.
        public typealias Element = KeychainState<Value>
        /// What goes wrong is an element; the sequence itself doesn't fail.
        public typealias Failure = Never

        let keychain: Keychain
        let key: KeychainKey<Value>

        /// An iterator whose first element is the present state.
        public func makeAsyncIterator() -> Iterator {
            Iterator(keychain: keychain, key: key)
        }

        /// Follows the secret while it exists.
        public struct Iterator: AsyncIteratorProtocol {
            private let access: ItemAccess
            private let key: KeychainKey<Value>
            private let follower: ChangeFollower
            private var reader: ItemReader

            fileprivate init(keychain: Keychain, key: KeychainKey<Value>) {
                access = keychain.access(.load, key.account)
                self.key = key
                follower = ChangeFollower(keychain.database)
                reader = ItemReader(keychain, account: key.account)
            }

            /// The next state.
            ///
            /// - Returns: The state; nil once the task was cancelled.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async -> KeychainState<Value>? {
                while await follower.wait() {
                    let (state, next) = await Self.read(reader, follower)
                    reader = next
                    if let state { return decode(state) }
                }
                return nil
            }

            /// The next state.
            ///
            /// - Returns: The state; nil once the task was cancelled.
            public mutating func next() async -> KeychainState<Value>? {
                await next(isolation: nil)
            }

            private func decode(_ state: KeychainState<Data>) -> KeychainState<Value> {
                state.decoded(key, access)
            }

            /// A cancelled task reads nothing; the wait that follows ends then.
            private static func read(
                _ reader: ItemReader, _ follower: ChangeFollower
            ) async -> (KeychainState<Data>?, ItemReader) {
                let result = try? await BlockingPool.shared.run {
                    var reader = reader
                    let state = reader.read(follower)
                    return (state, reader)
                }
                return result ?? (nil, reader)
            }
        }
    }
}

extension KeychainState<Data> {
    /// The state of a value of these bytes.
    func decoded<Result>(
        _ key: KeychainKey<Result>, _ access: ItemAccess
    ) -> KeychainState<Result> {
        switch self {
        case .value(let data):
            do {
                return .value(try access.decode(data, key))
            } catch {
                return .unavailable(error)
            }
        case .absent: return .absent
        case .unavailable(let error): return .unavailable(error)
        }
    }
}
