"""The tools of a session, one module each, and the pipeline that runs them."""
