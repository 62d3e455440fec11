import Foundation
public let broken = ProcessInfo.processInfo.environment["BREAK"] ?? ""
