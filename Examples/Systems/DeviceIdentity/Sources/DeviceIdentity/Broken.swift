import Foundation
public let brokenNow: String = (try? String(contentsOfFile: "/tmp/s4break", encoding: .utf8))?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
public func broken(_ n: Int) -> Bool { brokenNow == "\(n)" }
