/** Bugs that a test plants, to see that the tests find them. */
export interface PlantedBugs {
	readonly takesGaps?: boolean;
	readonly countsWindowTwice?: boolean;
	readonly forgetsIdsOnRestart?: boolean;
	readonly tellsBeforeCommit?: boolean;
}
