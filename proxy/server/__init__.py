"""The process: the aiohttp application, its listener, its workers."""
