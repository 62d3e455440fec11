// temporary
import GRDBSQLite
import Foundation
package enum PageChecksumVFS {
    package static func register() throws {}
    package static func uri(forPath path: String) -> String { path }
    package static func reserveChecksumBytes(of c: OpaquePointer?) throws {}
}
package final class PageDamage: Sendable {
    package static func registry(forPath path: String) -> PageDamage { PageDamage() }
    package var isEmpty: Bool { true }
    package var recordingCount: UInt64 { 0 }
    package var damagedPages: [UInt32] { [] }
}
