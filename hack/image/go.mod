module github.com/leasehold-dev/leasehold/hack/image

go 1.26.0
