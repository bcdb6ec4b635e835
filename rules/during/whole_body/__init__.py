"""Answers that are one JSON body: judged whole, or gathered from a stream where a body was asked for."""
