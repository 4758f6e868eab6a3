/** What no shell takes apart. */
const PLAIN = /^[\w@%+=:,./-]+$/;

/**
 * A word of a command that is shown, so that it can be pasted into a shell: in single quotes, as POSIX has them, where it is not plain. A
 * control character is left to whatever prints it. Source: https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_02_02
 */
export function shellWord(word: string): string {
	return PLAIN.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
