// ItemStates: an asynchronous sequence of the states of one secret.

import Foundation

extension Keychain {
    /// Returns a sequence of the states of one secret, starting with the current one.
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
    /// - The first element is the current state, so no change is missed between a load and the
    ///   start of the sequence.
    /// - After a change, the new state follows. Changes that occur faster than the elements are
    ///   consumed are coalesced: the next element is the state at the time when the consumer asks
    ///   for it. The final state is always reported. A slow consumer never blocks a writer and uses
    ///   no additional memory.
    /// - Saving a value that equals the existing one counts as a change.
    /// - The user is never asked for authentication. An item whose ``AccessControl`` requires
    ///   authentication is therefore unavailable, unless, on Linux, the context that was passed to
    ///   `authenticating(with:)` remembers the authentication.
    /// - While the item can't be read, because it is locked or damaged, one element reports the
    ///   error, and another one follows whenever the code of the error changes. Once the item can
    ///   be read again, its state follows, even if it is the same as before.
    /// - If the bytes of the item are not a value of this type, the element that reports the change
    ///   contains the error.
    /// - The sequence ends only when its task is canceled.
    ///
    /// On Linux, the sequence reports the changes of all processes. Apple platforms provide no
    /// change notifications. There, the sequence reports the changes that this process makes with
    /// this package; a lock, or a change by another process, is noticed only at the next change
    /// that this process makes. On all platforms, a failed read is repeated every two seconds.
    ///
    /// While the secret can be read, it is read only when its item has changed, not when other
    /// items change. Each iteration is independent, and nothing is opened or read before it begins.
    /// The keychain is read on threads of this package, and the value is decoded in the consumer's
    /// task.
    ///
    /// - Parameter key: The key of the secret.
    /// - Returns: A sequence that can be iterated any number of times.
    ///
    /// Apple's API has no corresponding call.
    public func changes<Value: Sendable>(of key: KeychainKey<Value>) -> ItemStates<Value> {
        ItemStates(keychain: self, key: key)
    }

    /// The sequence that `changes(of:)` returns.
    public struct ItemStates<Value: Sendable>: AsyncSequence, Sendable {
        /// A state of the secret.
        public typealias Element = KeychainState<Value>
        /// Errors are reported as elements. The sequence itself never throws.
        public typealias Failure = Never

        let keychain: Keychain
        let key: KeychainKey<Value>

        /// Returns an iterator whose first element is the current state.
        public func makeAsyncIterator() -> Iterator {
            Iterator(keychain: keychain, key: key)
        }

        /// An iterator. It follows the secret until it is released or its task is canceled.
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

            /// Waits for the next state.
            ///
            /// - Returns: The state, or `nil` if the task was canceled.
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

            /// Waits for the next state.
            ///
            /// - Returns: The state, or `nil` if the task was canceled.
            public mutating func next() async -> KeychainState<Value>? {
                await next(isolation: nil)
            }

            private func decode(_ state: KeychainState<Data>) -> KeychainState<Value> {
                state.decoded(key, access)
            }

            /// Reads the item. If the task is canceled before the read starts, nothing is read and
            /// the next wait ends the sequence.
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
    /// The state with its bytes decoded to a value of the key's type, or unavailable if they can't
    /// be decoded.
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
