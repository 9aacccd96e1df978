// Package admission tests the admission policies that the installer brings, on a real API server and with users who have no more
// rights than their roles give them. What it installs is what kustomize makes of config/default, as in dist/install.yaml.
package admission
