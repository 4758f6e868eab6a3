import { COMMAND_NAMES } from './output/command-name.ts';

/** The shells that can be completed in. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;

export type Shell = (typeof SHELLS)[number];

/**
 * The command that the scripts call, with the words up to the cursor behind `--`. It prints a line for each candidate, its description
 * behind a tab, and last `:`, `:files` or `:directories`: what the shell must complete itself.
 */
export const COMPLETION_COMMAND = '__complete';

/** The script for a shell. It holds no command and no flag: those are asked of the command itself, which is never out of date. */
export function completionScript(shell: Shell): string {
	return SCRIPTS[shell].replaceAll('NAMES', COMMAND_NAMES.join(' ')).replaceAll('COMPLETE', COMPLETION_COMMAND);
}

// Bash cuts words at = and : too (COMP_WORDBREAKS), so that the line is read anew, and only what is behind the last of them is replaced.
// Bash 3.2, which macOS has, lacks mapfile, and its compopt is missing.
const BASH = `# Completion for NAMES. Use: source <(sidecar completion bash)
_spock_complete() {
	local line="\${COMP_LINE:0:COMP_POINT}" words=() cur rest candidate kind=: IFS=$' \\t\\n'
	read -ra words <<<"$line"
	case "$line" in *[[:space:]]) words+=('') ;; esac
	cur="\${words[\${#words[@]} - 1]}"
	rest="$cur"
	case "$COMP_WORDBREAKS" in *=*) rest="\${rest##*=}" ;; esac
	case "$COMP_WORDBREAKS" in *:*) rest="\${rest##*:}" ;; esac
	COMPREPLY=()
	while IFS= read -r candidate; do
		case "$candidate" in
			:*) kind="$candidate" ;;
			*)
				candidate="\${candidate%%$'\\t'*}"
				COMPREPLY+=("\${candidate#"\${cur%"$rest"}"}")
				;;
		esac
	done < <("$1" COMPLETE -- "\${words[@]:1}" 2>/dev/null)
	case "$kind" in :files | :directories)
		local flag=-f
		[ "$kind" = :directories ] && flag=-d
		while IFS= read -r candidate; do COMPREPLY+=("$candidate"); done < <(compgen "$flag" -- "$rest")
		compopt -o filenames 2>/dev/null
		;;
	esac
	return 0
}
complete -F _spock_complete NAMES
`;

const ZSH = `#compdef NAMES
# Completion for NAMES. Use: source <(sidecar completion zsh), or write it into a file _sidecar in a directory of fpath.
_spock_complete() {
	local -a lines described given
	local line kind=:
	given=("\${(@Q)words[2,CURRENT - 1]}" "$PREFIX")
	lines=("\${(@f)$("\${(Q)words[1]}" COMPLETE -- "\${(@)given}" 2>/dev/null)}")
	for line in "\${(@)lines}"; do
		case "$line" in
			:*) kind="$line" ;;
			?*) described+=("\${\${line%%$'\\t'*}//:/\\\\:}\${\${line#*$'\\t'}:+:\${line#*$'\\t'}}") ;;
		esac
	done
	case "$kind" in
		:files) _files ;;
		:directories) _files -/ ;;
		*) _describe -t values 'NAMES' described ;;
	esac
}
if [ "$funcstack[1]" = _sidecar ]; then
	_spock_complete "$@"
else
	(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
	compdef _spock_complete NAMES
fi
`;

const FISH = `# Completion for NAMES. Use: sidecar completion fish | source
function __spock_complete
	set -l words (commandline -opc)
	set -l current (commandline -ct)
	set -l lines ($words[1] COMPLETE -- $words[2..-1] $current 2>/dev/null)
	switch "$lines[-1]"
		case :files
			__fish_complete_path $current
		case :directories
			__fish_complete_directories $current
		case '*'
			string match -v ':*' -- $lines
	end
end
for name in NAMES
	complete -c $name -f -a '(__spock_complete)'
end
`;

const SCRIPTS: Readonly<Record<Shell, string>> = { bash: BASH, zsh: ZSH, fish: FISH };
