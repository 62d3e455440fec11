// NameCompletion: lists the names of generic passwords for completion in shells, and adds the
// completion of these names to the parser's completion scripts.
//   (1) Names are untrusted text. Each is one line that a shell reads as data: no script passes it
//       to `eval`, or to `compgen -W`, which expands it. Names with line breaks, with other
//       characters that a terminal interprets, or with a leading dash or tilde are not offered.
//   (2) Completion never prompts, and this process creates no keychain. Failures are ignored
//       silently.

import ArgumentParser
import KeychainCore

enum NameCompletion {
    /// Passed instead of a subcommand. No option of a command begins with three dashes, and the
    /// parser itself accepts only `---completion`.
    private static let verb = "---names"

    static func isRequested(by arguments: [String]) -> Bool { arguments == [verb] }

    static func printNames() {
        let source = PasscodeSource(mayAsk: false)
        guard let session = try? KeychainSession(existing: source) else { return }
        defer { session.closeIfLogIsLong() }
        let query = ItemQuery(itemClass: .genericPassword, isSynchronizable: nil)
        let items = (try? session.find([query])) ?? []
        let names = Set(items.compactMap(\.word)).filter(isOffered)
        try? Output.print(names.sorted().map { $0 + "\n" }.joined())
    }

    /// Whether a name is offered. A leading dash would make it an option, and a leading tilde would
    /// be expanded to a folder.
    private static func isOffered(_ name: String) -> Bool {
        !name.hasPrefix("-") && !name.hasPrefix("~")
            && !name.unicodeScalars.contains(where: \.isUnsafeInLine)
    }

    // MARK: In scripts

    /// The verbs after which bash and fish offer the names of items.
    private static let verbs: [any ParsableCommand.Type] = [
        SetCommand.self, GenerateCommand.self, GetCommand.self, RenameCommand.self,
        DuplicateCommand.self, LabelCommand.self, DeleteCommand.self, ListCommand.self,
        InfoCommand.self, DoctorCommand.self, OTPCommand.self, EditCommand.self, CopyCommand.self,
        HistoryCommand.self, PurgeCommand.self,
    ]

    /// Options that take no value, so that a name may follow them.
    private static let flags = [
        "--json", "--raw", "--no-prompt", "--synchronizable", "--no-synchronizable", "--all",
        "--all-items", "--yes", "--new", "--trim-newline", "--allow-empty", "--replace", "-f",
        "--print", "--tree", "--",
    ]

    /// The parser's completion script, to which the completion of item names is added and, for zsh,
    /// the completion after aliases of the verbs.
    static func script(for shell: CompletionsCommand.Shell) -> String {
        let script = RootCommand.completionScript(for: shell.completionShell)
        switch shell {
        case .bash: return script + "\n" + bash
        case .zsh:
            let cases = verbs.flatMap { verb in
                verb.configuration.aliases.map { alias in
                    "\n                \(alias)) _keychainctl_\(name(of: verb)) && ret=0 ;;"
                }
            }
            let first = "#compdef keychainctl\n"
            return first + zsh
                + script.replacing(first, with: "", maxReplacements: 1)
                .replacing(":item:'", with: ":item:_keychainctl_items'")
                .replacing(":new-name:'", with: ":new-name:_keychainctl_items'")
                .replacing(
                    "case \"${words[1]}\" in",
                    with: "case \"${words[1]}\" in" + cases.joined(), maxReplacements: 1)
        case .fish: return script + "\n" + fish
        }
    }

    private static func name(of verb: any ParsableCommand.Type) -> String {
        verb.configuration.commandName ?? ""
    }

    private static var words: String {
        verbs.flatMap { [name(of: $0)] + $0.configuration.aliases }.joined(separator: " ")
    }

    /// Readline splits words at colons and equals signs, and completes only the last part. It
    /// quotes completions that it takes for file names, but leaves some dollar signs and backquotes
    /// unquoted, so names are quoted here. Inside open quotes, only names that need no quoting are
    /// offered.
    private static var bash: String {
        #"""
        _keychainctl_with_names() {
            _keychainctl "$@"
            [[ ${COMP_CWORD} -gt 1 && " \#(words) " == *" ${COMP_WORDS[1]} "* ]] || return 0
            local line=${COMP_LINE:0:COMP_POINT} word=${2//\\/} cut= before name rest is_quoted=
            case ${line} in
                *[\"\']*) is_quoted=yes ;;
                *\\*) ;;
                *)
                    word=${line##*[[:space:]]}
                    cut=${word%"$2"}
                    ;;
            esac
            before=${line%"${line##*[[:space:]]}"}
            before=${before%"${before##*[![:space:]]}"}
            before=${before##*[[:space:]]}
            [[ ${word} != -* ]] || return 0
            [[ ${before} != -* || " \#(flags.joined(separator: " ")) " == *" ${before} "* ]] || return 0
            compopt +o filenames 2>/dev/null
            while IFS= read -r name; do
                [[ ${name} == "${word}"* ]] || continue
                rest=${name#"${cut}"}
                if [[ -z ${is_quoted} ]]; then
                    printf -v rest %q "${rest}"
                elif [[ ${rest} == *[!a-zA-Z0-9\ ._/:@+,=-]* ]]; then
                    continue
                fi
                COMPREPLY+=("${rest}")
            done < <(keychainctl ---names 2>/dev/null </dev/null)
            return 0
        }

        complete -o filenames -F _keychainctl_with_names keychainctl

        """#
    }

    private static let zsh = #"""
        _keychainctl_items() {
            local -a names
            setopt localoptions banghist
            names=("${(@f)$(keychainctl ---names 2>/dev/null </dev/null)}")
            names=("${(@)names:#}")
            (( ${#names} )) && compadd -- "${names[@]}"
        }


        """#

    private static var fish: String {
        #"""
        function __keychainctl_takes_item
            __fish_seen_subcommand_from \#(words)
            and not string match -q -- '-*' (commandline -ct)
        end

        complete -c keychainctl -n __keychainctl_takes_item -f -a '(keychainctl ---names 2>/dev/null </dev/null)'

        """#
    }
}
