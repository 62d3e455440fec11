// Hidden: a property whose value is in no description, dump or mirror of what has it.
//   (1) It is for values that have to be copied and compared, such as those of requests. Their bytes are
//       in ordinary memory; `SecretBytes` is for keys.

/// Keeps a value out of what the standard library says of it.
@propertyWrapper
package struct Hidden<Value> {
    package var wrappedValue: Value

    package init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
}

extension Hidden: Equatable where Value: Equatable {}
extension Hidden: Hashable where Value: Hashable {}
extension Hidden: Sendable where Value: Sendable {}

extension Hidden: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "hidden" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
