// PackageVersion: the version of the tools and of the service, which are released together.

package enum PackageVersion {
    /// What the change log calls it.
    package static let text = "0.1.0-dev"
}
