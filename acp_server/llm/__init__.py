"""The provider-neutral model runtime: adapters, failures, retry, one HTTP driver."""
