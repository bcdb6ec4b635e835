"""The third door: after a failure or a loop, may we ask again, when, and on whose account?"""
