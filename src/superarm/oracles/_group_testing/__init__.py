"""The parts of `GroupTesting`: its tests, its memory and its report."""
