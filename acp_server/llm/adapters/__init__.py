"""Wire protocols of model servers, each as two pure halves: a body encoder and a decoder of the answer's events."""
