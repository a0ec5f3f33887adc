"""The games for other libraries, which need not be there: each module here says what it needs when it is imported."""
