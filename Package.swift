// swift-tools-version: 6.2
import PackageDescription

/// What every Swift target is compiled with.
let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableExperimentalFeature("Lifetimes"),
    .treatAllWarnings(as: .error),
    .unsafeFlags(["-cross-module-optimization"], .when(configuration: .release)),
]

/// As `strict`, with pointers marked; `Posix` and `Bytes` are the two homes of pointers and go without.
let safe = strict + [.strictMemorySafety()]

func module(_ name: String, _ dependencies: [String], settings: [SwiftSetting] = safe) -> Target {
    .target(
        name: name,
        dependencies: dependencies.map { .byName(name: $0) },
        swiftSettings: settings,
    )
}

func tests(_ name: String, _ dependencies: [String], excluding: [String] = []) -> Target {
    .testTarget(
        name: name,
        dependencies: dependencies.map { .byName(name: $0) },
        exclude: excluding,
        swiftSettings: strict,
    )
}

let package = Package(
    name: "uplinkd",
    products: [
        .executable(name: "uplinkd", targets: ["uplinkd"]),
        .executable(name: "uplinkctl", targets: ["uplinkctl"]),
    ],
    targets: [
        .target(name: "CLinux"),
        .target(name: "CChecksum"),
        .systemLibrary(name: "CSystemdLibrary", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
        .target(name: "CSystemd", dependencies: ["CSystemdLibrary"]),
        .systemLibrary(name: "CCurlLibrary", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .target(name: "CCurl", dependencies: ["CCurlLibrary", "COpenSSL"]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),

        module("Bytes", ["CChecksum"], settings: strict),
        module("Time", []),
        module("Version", []),
        module("JSON", ["Bytes"]),
        module("HTTP1", ["Bytes", "JSON"]),
        module("Posix", ["CLinux", "Bytes", "Time"], settings: strict),
        module("Reactor", ["Bytes", "Posix", "Time"]),
        module("Resolver", ["Bytes", "Posix", "Time"]),
        module("Netlink", ["CLinux", "Bytes", "Posix"]),
        module("Reachability", ["Bytes", "Time", "Netlink"]),
        module("Gates", ["Bytes", "Time", "Reachability"]),
        module("Queue", ["Bytes", "Time", "Posix", "Reachability", "Gates"]),
        module("Intake", ["Bytes", "Time", "JSON", "HTTP1", "Posix", "Reactor", "Gates", "Queue"]),
        module("Delivery", ["Bytes", "Time", "JSON", "Reachability", "Gates", "Queue"]),
        module(
            "HTTPTransport", ["CCurl", "CZlib", "Bytes", "Time", "Posix", "Reactor", "Reachability", "Delivery"]),
        module("HTTPServer", ["Bytes", "Time", "HTTP1", "Posix", "Reactor"]),
        module("Control", ["Bytes", "Time", "JSON", "HTTP1", "HTTPServer", "Posix", "Reactor"]),
        module("Configuration", ["Bytes", "Time", "Posix"]),
        module(
            "ControlClient",
            [
                "CZlib", "Bytes", "Time", "JSON", "HTTP1", "HTTPServer", "Posix", "Reactor", "Queue", "Configuration",
            ]),
        module("SystemdService", ["CSystemd", "Bytes", "Time", "Posix"]),
        module(
            "Daemon",
            [
                "Bytes", "Time", "JSON", "HTTP1", "Posix", "Reactor", "Resolver", "Netlink", "Reachability", "Gates",
                "Queue", "Intake", "Delivery", "HTTPTransport", "HTTPServer", "Control", "Configuration",
                "SystemdService", "Version",
            ]),
        module("QueueSimulator", ["Bytes", "Time", "Posix", "Reachability", "Gates", "Queue"]),
        module(
            "Simulator",
            [
                "Bytes", "Time", "Posix", "JSON", "Resolver", "Reachability", "Gates", "Queue", "QueueSimulator",
                "Intake", "Delivery", "Control", "Daemon",
            ]),

        .executableTarget(name: "uplinkd", dependencies: ["Daemon", "Posix"], swiftSettings: safe),
        .executableTarget(name: "uplinkctl", dependencies: ["ControlClient", "Version"], swiftSettings: safe),

        .executableTarget(
            name: "queue-simulation", dependencies: ["QueueSimulator", "Posix", "Bytes", "Time"],
            path: "Tests/QueueSimulation", swiftSettings: safe),
        tests("BytesTests", ["Bytes", "Time"]),
        .target(name: "JSONReference", path: "Tests/JSONReference", swiftSettings: safe),
        tests("JSONTests", ["JSON", "JSONReference", "Bytes"]),
        tests("HTTP1Tests", ["HTTP1", "JSON", "Bytes"]),
        tests("PosixTests", ["Posix", "Bytes", "Time"]),
        tests("ReactorTests", ["Reactor", "Posix", "Time"]),
        tests("ResolverTests", ["Resolver", "Bytes", "Posix", "Time"]),
        tests("NetlinkTests", ["Netlink", "Bytes", "Posix"]),
        tests("ReachabilityTests", ["Reachability", "Netlink", "Time", "Bytes"]),
        tests("GatesTests", ["Gates", "Reachability", "Time", "Bytes"]),
        tests("QueueModelTests", ["QueueSimulator", "Posix"]),
        tests("QueueTests", ["Queue", "Gates", "Reachability", "JSON", "Bytes", "Time", "Posix"]),
        tests(
            "IntakeTests",
            ["Intake", "JSON", "HTTP1", "Queue", "Gates", "Reachability", "Posix", "Reactor", "Bytes", "Time"]),
        tests("DeliveryTests", ["Delivery", "Gates", "Reachability", "Queue", "JSON", "Posix", "Bytes", "Time"]),
        .target(name: "CTLSServer", dependencies: ["COpenSSL"], path: "Tests/CTLSServer"),
        tests(
            "HTTPTransportTests",
            [
                "HTTPTransport", "CCurl", "CZlib", "CTLSServer", "Delivery", "Reachability", "Reactor", "Posix",
                "Bytes", "Time",
            ],
            excluding: ["Fixtures"]),
        tests(
            "ControlTests",
            ["Control", "ControlClient", "HTTP1", "HTTPServer", "JSON", "Posix", "Reactor", "Bytes", "Time"]),
        tests("ConfigurationTests", ["Configuration", "Posix", "Bytes", "Time"]),
        tests("SystemdServiceTests", ["SystemdService", "Posix", "Bytes", "Time"]),
        tests(
            "SimulatorTests",
            ["Simulator", "QueueSimulator", "Posix", "Time"]),
        tests(
            "DaemonTests",
            [
                "Daemon", "Control", "Intake", "Delivery", "HTTPTransport", "Reachability", "Resolver", "Queue",
                "QueueSimulator", "Gates", "SystemdService", "Posix", "Bytes", "Time",
            ]),
        tests("TidyTests", ["Posix", "Bytes"]),
    ],
    swiftLanguageModes: [.v6],
)

// Only `make fuzz` builds these.
if Context.environment["UPLINKD_FUZZ"] != nil {
    package.targets.append(
        .executableTarget(
            name: "Fuzzers",
            dependencies: [
                "Queue", "Intake", "Gates", "Reachability", "HTTP1", "JSON", "JSONReference", "Netlink",
                "Configuration", "ControlClient", "Daemon", "Posix", "Bytes",
            ],
            path: "Tests/Fuzzers", exclude: ["Corpus"],
            swiftSettings: strict + [.unsafeFlags(["-parse-as-library"])]))
}
