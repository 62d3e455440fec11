// PackageVersion: the version of the tools and of the service, which are released together.

package enum PackageVersion {
    /// The version, as in the change log.
    package static let text = "0.1.0-dev"
}
