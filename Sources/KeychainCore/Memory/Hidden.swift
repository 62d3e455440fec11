// Hidden: a property whose value doesn't appear in descriptions, dumps or mirrors of its owner.
//   (1) It is for values that have to be copied and compared, such as those of requests. Their
//       bytes are in ordinary memory. For keys there is `SecretBytes`.

/// Keeps a value out of the standard library's descriptions of its owner.
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
