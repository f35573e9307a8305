"""What tests of every tier share: the raw client, the mock model server, the schema oracle, fakes of the ports."""
