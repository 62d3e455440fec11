// swift-tools-version: 6.2
import PackageDescription

// Compares etcd's two interfaces, as Decision 48 describes. No other package depends on this one,
// so that gRPC is built only by those who repeat the comparison.
let package = Package(
    name: "transports",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/grpc/grpc-swift-2.git", from: "2.4.3"),
        .package(url: "https://github.com/grpc/grpc-swift-nio-transport.git", from: "2.9.2"),
        .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.37.0"),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
    ],
    targets: [
        .target(name: "Comparison"),
        .executableTarget(
            name: "json-client",
            dependencies: [
                "Comparison",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
            ]),
        .executableTarget(
            name: "grpc-client",
            dependencies: [
                "Comparison",
                .product(name: "GRPCCore", package: "grpc-swift-2"),
                .product(
                    name: "GRPCNIOTransportHTTP2Posix", package: "grpc-swift-nio-transport"),
            ]),
    ]
)
