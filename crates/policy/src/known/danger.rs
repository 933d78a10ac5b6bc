//! Commands that somebody should look at even if they are confined.
//!
//! A row is a program, what its words must hold, and why. All items between blanks must be there:
//!
//! ```text
//! (nothing)     whatever the words are
//! word          the sub-command, one item for each level; `a,b` is one of them, `a*` one that begins so
//! !a,b          a sub-command that is none of them
//! %a,b          some later word is one of them
//! -x,--name     one of these options: a letter alone or among others, a name in full or abbreviated
//! -name         such a word, as it is
//! --            such a word
//! {name}        what the function of that name in `predicate` says
//! ```

use std::sync::LazyLock;

use super::index::Index;
use super::predicate::predicate;
use super::{Word, git, last_part, lists, variables, wrapper};

/// How many commands deep a command is looked at.
const DEPTH: usize = 8;
/// How many commands inside one are looked at.
const INSIDE: usize = 64;

/// A program's names, what its words hold, and why that is dangerous.
pub(super) type Row = (&'static str, &'static str, &'static str);

const REMOVES: &str = "removes files without asking";
const DISK: &str = "changes disks or what is on them";
const USER: &str = "runs a command as another user";
const SPACE: &str = "leaves or changes the confinement of processes";
const HOST: &str = "reaches another machine";
const SENDS: &str = "sends data to another machine";
const CONTAINER: &str = "runs or changes containers, which are not confined";
const CLOUD: &str = "changes something that runs elsewhere";
const PUBLISHES: &str = "publishes, or changes who may";
const RUNS: &str = "runs a program that is given as an option";
const SYSTEM: &str = "changes the running system";
const STOPS: &str = "stops processes that it does not name";
const NETWORK: &str = "changes the network of the machine";
const SECRET: &str = "shows or changes a secret";
const LATER: &str = "runs something later";
const OPEN: &str = "gives everybody a right";

const ROWS: &[Row] = &[
    ("rm rmdir unlink", "{system}", "removes what belongs to the system"),
    ("rm", "-r,-R,-f,--recursive,--force", REMOVES),
    ("rm", "--no-preserve-root", REMOVES),
    ("find", "-delete", REMOVES),
    ("fd fdfind", "-x,-X,--exec,--exec-batch %rm", REMOVES),
    ("shred srm wipe", "", "makes files unreadable for good"),
    ("dd", "{device}", DISK),
    ("cp mv tee truncate install ln", "{disk}", DISK),
    ("mkfs* mke2fs mkswap fdisk sfdisk cfdisk gdisk sgdisk parted wipefs blkdiscard hdparm", "", DISK),
    (
        "cryptsetup losetup lvremove vgremove pvremove lvresize mdadm zpool zfs btrfs swapon swapoff fsck*",
        "",
        DISK,
    ),
    ("diskutil", "!list,info", DISK),
    ("mount", "{operand}", DISK),
    ("umount fusermount fusermount3", "", DISK),
    (
        "chmod chown chgrp setfacl chattr",
        "-R,--recursive {system}",
        "changes the rights of what belongs to the system",
    ),
    ("chmod", "{open}", OPEN),
    ("chmod install", "{setid}", "makes a program run with its owner's rights"),
    ("setcap", "", "makes a program run with more rights"),
    ("sudo doas pkexec su runuser sg newgrp sudoedit run0", "", USER),
    ("unshare nsenter chroot setpriv capsh bwrap firejail systemd-run systemd-nspawn machinectl", "", SPACE),
    (
        "docker podman nerdctl",
        "!ps,images,inspect,logs,version,info,top,stats,history,diff,port,search,compose,context,network,volume,\
         image,container,buildx,system,--version",
        CONTAINER,
    ),
    ("docker podman nerdctl", "compose !ps,logs,config,version,ls,images,top", CONTAINER),
    (
        "docker podman nerdctl",
        "context,network,volume,image,container,buildx,system !ls,list,inspect,show,ps,logs,df,info,version",
        CONTAINER,
    ),
    ("docker-compose podman-compose", "!ps,logs,config,version,ls,images,top", CONTAINER),
    (
        "kubectl oc",
        "!get,describe,logs,version,explain,top,api-resources,api-versions,cluster-info,diff,config",
        CLOUD,
    ),
    ("kubectl oc", "config !view,get-contexts,current-context,get-clusters", CLOUD),
    ("helm", "!list,ls,status,get,show,search,version,template,lint,history,env", CLOUD),
    ("ssh", "{beyond-version}", HOST),
    ("scp sftp mosh ftp tftp lftp rlogin rsh ssh-copy-id autossh sshpass", "", HOST),
    ("rsync", "{host}", HOST),
    (
        "rsync",
        "--delete,--delete-before,--delete-during,--delete-delay,--delete-after,--delete-excluded,--del",
        REMOVES,
    ),
    ("rsync", "--remove-source-files", REMOVES),
    ("rsync", "-e,--rsh,--rsync-path", RUNS),
    ("nc ncat netcat nc.openbsd nc.traditional socat telnet rclone croc", "", HOST),
    ("openssl", "s_client,s_server", HOST),
    ("mail mailx sendmail mutt msmtp swaks", "", SENDS),
    (
        "curl",
        "-T,--upload-file,-d,--data,--data-ascii,--data-raw,--data-binary,--data-urlencode,--json",
        SENDS,
    ),
    ("curl", "-F,--form,--form-string,-Q,--quote,--mail-from", SENDS),
    ("curl", "{method}", SENDS),
    ("curl", "-K,--config", "takes its options from a file"),
    ("curl", "--unix-socket,--abstract-unix-socket", "speaks to a service of this machine"),
    ("wget", "--post-data,--post-file,--body-data,--body-file", SENDS),
    ("wget", "{method}", SENDS),
    ("wget", "-e,--execute,--config,--use-askpass", "takes its options from a word or runs a program"),
    ("curl wget", "{file}", "writes a download to a file"),
    ("curl", "-O,--remote-name,--remote-name-all", "writes a download to a file"),
    ("http https xh", "%POST,PUT,PATCH,DELETE", SENDS),
    (
        "buildah ctr crictl nerdctl lxc incus lxc-attach apptainer singularity vagrant multipass limactl virsh
         flatpak-spawn distrobox minikube kind k3s microk8s",
        "",
        CONTAINER,
    ),
    ("slogin dbclient plink pscp psftp sshfs ngrok cloudflared", "", HOST),
    ("gosu su-exec chpst setuidgid start-stop-daemon", "", USER),
    ("tune2fs debugfs e2fsck badblocks nvme efibootmgr grub-install setenforce", "", DISK),
    ("vault", "read,kv,write,login,token", SECRET),
    ("pass", "show,insert,rm,edit", SECRET),
    ("op", "read,item,run,inject", SECRET),
    ("bw secret-tool security", "get,lookup,find-generic-password,find-internet-password,export", SECRET),
    ("gpg gpg2", "--export-secret-keys,--export-secret-subkeys", SECRET),
    ("gcloud", "auth print-access-token,print-identity-token", SECRET),
    ("az", "account get-access-token", SECRET),
    ("aws", "secretsmanager,ecr get-secret-value,get-login-password", SECRET),
    ("kubectl oc", "get secret,secrets", SECRET),
    ("twine", "upload", PUBLISHES),
    ("python python3", "-m twine", PUBLISHES),
    ("vsce ovsx nuget goreleaser", "publish,push,release", PUBLISHES),
    ("deno dart", "publish", PUBLISHES),
    ("dart flutter", "pub publish", PUBLISHES),
    ("kill", "{group}", STOPS),
    ("fuser", "-k,--kill", STOPS),
    ("eval source .", "", "runs text as commands"),
    ("tar bsdtar gtar", "--checkpoint-action,--to-command,-I,--use-compress-program", RUNS),
    ("tar bsdtar gtar", "-F,--info-script,--new-volume-script,--rsh-command,--rmt-command", RUNS),
    ("zip", "-TT", RUNS),
    ("zip", "--unzip-command", RUNS),
    ("sed gsed", "{sed}", "runs a command from its script"),
    ("sort gsort", "--compress-program", RUNS),
    ("rg", "--pre", RUNS),
    ("date gdate", "-s,--set", "sets the clock"),
    ("date gdate", "{digits}", "sets the clock"),
    ("hwclock ntpdate", "", "sets the clock"),
    ("hostname", "{operand}", SYSTEM),
    ("hostname", "-F,-b,--file,--boot", SYSTEM),
    ("hostnamectl timedatectl localectl loginctl", "!status,show,list*,timesync-status", SYSTEM),
    ("crontab at batch atrm", "", LATER),
    ("systemctl", "!status,show,list*,is-*,cat,help,--version", SYSTEM),
    ("service rc-service", "%start,stop,restart,reload,force-reload", SYSTEM),
    ("launchctl initctl update-rc.d chkconfig rc-update", "", SYSTEM),
    ("journalctl", "--vacuum-size,--vacuum-time,--vacuum-files,--rotate,--flush", SYSTEM),
    ("sysctl", "-w,-p,--write,--load,--system", SYSTEM),
    ("sysctl", "{assigns}", SYSTEM),
    ("shutdown reboot halt poweroff init telinit kexec pm-suspend", "", SYSTEM),
    ("modprobe insmod rmmod depmod dmsetup", "", SYSTEM),
    (
        "useradd userdel usermod adduser deluser groupadd groupdel groupmod passwd chpasswd chsh chfn visudo
         vipw gpasswd",
        "",
        "changes accounts",
    ),
    ("ip", "%add,del,delete,set,change,replace,flush,exec,append", NETWORK),
    (
        "iptables ip6tables ebtables arptables",
        "-A,-D,-I,-F,-P,-X,-R,-N,-Z,-E,--append,--delete,--insert,--flush,--policy",
        NETWORK,
    ),
    ("nft", "%add,delete,flush,insert,create,replace,destroy,reset", NETWORK),
    ("nft", "-f,--file", NETWORK),
    (
        "iptables-restore ip6tables-restore ufw firewall-cmd tc brctl ifup ifdown nmcli wg wg-quick iwconfig",
        "",
        NETWORK,
    ),
    ("ifconfig route", "%up,down,add,del,delete,flush", NETWORK),
    ("kill", "{everything}", STOPS),
    ("pkill killall skill killall5 xkill", "", STOPS),
    ("history fc", "-c,-d,-w", "changes the history of a shell"),
    (
        "npm pnpm yarn bun",
        "publish,unpublish,deprecate,owner,access,token,login,logout,adduser,add-user,dist-tag,dist-tags,team,\
         org,hook,profile,star,unstar",
        PUBLISHES,
    ),
    ("yarn", "npm publish,login,logout,tag", PUBLISHES),
    ("npm pnpm yarn", "config set,delete,edit", "changes the configuration of a package manager"),
    ("npm", "set", "changes the configuration of a package manager"),
    ("cargo", "publish,yank,login,logout,owner", PUBLISHES),
    ("cargo", "--config", "changes what cargo runs"),
    ("twine vsce ovsx", "upload,publish", PUBLISHES),
    ("poetry uv hatch flit pdm lerna pub", "publish", PUBLISHES),
    ("gem", "push,yank,owner,signin", PUBLISHES),
    ("mvn mvnw", "%deploy,release:perform,release:prepare", PUBLISHES),
    ("gradle gradlew", "%publish,publishToSonatype,uploadArchives", PUBLISHES),
    ("dotnet", "nuget push,delete", PUBLISHES),
    ("go", "env -w", "changes what go runs"),
    ("gh", "pr merge,close,create,comment,edit,review,ready,reopen,lock,update-branch", CLOUD),
    ("gh", "issue create,close,comment,edit,delete,transfer,reopen,lock,pin", CLOUD),
    ("gh", "repo create,delete,edit,archive,unarchive,rename,fork,sync,deploy-key,set-default", CLOUD),
    ("gh", "release create,delete,edit,upload,delete-asset", CLOUD),
    ("gh", "secret,variable,ssh-key,gpg-key,label,ruleset set,delete,add,create,edit,remove", CLOUD),
    ("gh", "auth", "handles the credentials of GitHub"),
    ("gh", "api {method}", CLOUD),
    ("gh", "api -f,-F,--field,--raw-field,--input", CLOUD),
    (
        "gh",
        "workflow,run,cache,gist,project,codespace run,enable,disable,rerun,cancel,delete,create,edit,ssh,item-add",
        CLOUD,
    ),
    ("gh", "extension,alias,config install,upgrade,set,exec,import", "changes what gh runs"),
    ("glab", "mr,issue,release,repo,variable merge,create,close,delete,update,set,approve", CLOUD),
    (
        "aws",
        "%create-*,delete-*,put-*,update-*,terminate-*,run-*,start-*,stop-*,reboot-*,modify-*,attach-*,detach-*,\
         authorize-*,revoke-*,associate-*,send-*,invoke*,publish*,deploy,rm,cp,mv,sync,mb,rb,configure,set-*,\
         add-*,remove-*,register-*,deregister-*,restore-*,tag-*,untag-*,reset-*,enable-*,disable-*,import-*,\
         execute-*,ssm",
        CLOUD,
    ),
    (
        "gcloud az gsutil bq doctl heroku fly flyctl vercel netlify wrangler firebase linode-cli ibmcloud oci",
        "%create,delete,update,set,deploy,start,stop,restart,reset,add,remove,ssh,scp,enable,disable,submit,\
         apply,login,add-iam-policy-binding,rm,cp,mv,rsync,mb,rb,destroy,up,run,invoke,scale,config:set,purge,\
         publish,import,export,call",
        CLOUD,
    ),
    ("vercel netlify", "--prod", CLOUD),
    ("terraform tofu terragrunt", "apply,destroy,import,taint,untaint,force-unlock,login", CLOUD),
    ("terraform tofu terragrunt", "state,workspace rm,mv,push,delete,replace-provider", CLOUD),
    ("pulumi", "up,update,destroy,import,cancel,refresh,login", CLOUD),
    ("pulumi", "stack,config,state rm,set,delete,rename", CLOUD),
    ("ansible ansible-playbook salt puppet chef-client", "", CLOUD),
    ("serverless sls cdk sam eb", "deploy,remove,destroy,delete,bootstrap", CLOUD),
    (
        "psql mysql mariadb sqlite3 mongo mongosh redis-cli",
        "%FLUSHALL,flushall,FLUSHDB,flushdb",
        "removes the data of a database",
    ),
    ("dropdb dropuser", "", "removes the data of a database"),
    ("mysqladmin", "%drop,shutdown,password", "removes the data of a database"),
];

/// Why the command `argv` is dangerous, or one that it runs; `None` if nothing is known.
pub(super) fn why(argv: &[Word<'_>]) -> Option<&'static str> {
    let mut commands = vec![argv];
    for _ in 0..DEPTH {
        if let Some(why) = commands.iter().find_map(|argv| why_alone(argv)) {
            return Some(why);
        }
        commands = commands.into_iter().flat_map(wrapper::inner).take(INSIDE + 1).collect();
        if commands.is_empty() {
            return None;
        }
        if commands.len() > INSIDE {
            break;
        }
    }
    Some("runs a command inside too many others")
}

fn why_alone(argv: &[Word<'_>]) -> Option<&'static str> {
    let Some((Some(program), words)) = argv.split_first() else { return None };
    let name = last_part(program);
    static INDEX: LazyLock<Index> = LazyLock::new(|| Index::of(ROWS.iter().map(|(names, ..)| *names)));
    let rows: Vec<&Row> = match name {
        "git" => git::ROWS.iter().collect(),
        _ => INDEX.rows(name).into_iter().map(|row| &ROWS[row]).collect(),
    };
    let row = rows.into_iter().find(|(_, when, _)| holds(name, when, words));
    row.map(|(_, _, why)| *why).or_else(|| wrapper::set(argv).find_map(variables::dangerous_variable))
}

/// Whether `words` hold all that `when` asks for. Options count only behind the sub-commands.
fn holds(program: &str, when: &str, words: &[Word<'_>]) -> bool {
    let mut rest = words;
    for item in when.split_whitespace() {
        let fits = if item.starts_with('{') {
            predicate(item, rest)
        } else if item.starts_with('-') {
            item.split(',').any(|option| has_option(program, option, rest))
        } else if let Some(list) = item.strip_prefix('%') {
            rest.iter().flatten().any(|word| among(list, word))
        } else if let Some(after) = sub_command(item, rest) {
            rest = after;
            true
        } else {
            false
        };
        if !fits {
            return false;
        }
    }
    true
}

/// Options of programs with sub-commands that surely take the next word.
const TAKES_NEXT: &str = "
    -n --namespace --context --kubeconfig --cluster --user -s --server -H --host --config -f --file --profile --region
    -p --project-name --project -C -c --git-dir --work-tree --manifest-path --color --prefix";

/// What follows the sub-command if `item` names it. What stands right behind an option may be its value: then it is
/// passed over if it does not fit, or, where anything else fits, if it surely is the value.
fn sub_command<'w, 'a>(item: &str, words: &'w [Word<'a>]) -> Option<&'w [Word<'a>]> {
    let (list, other) = match item.strip_prefix('!') {
        Some(list) => (list, true),
        None => (item, false),
    };
    let mut option = "";
    for (at, word) in words.iter().enumerate() {
        let word = (*word)?;
        let is_option = word.starts_with(['-', '+']);
        let is_value = if other { lists(TAKES_NEXT, option) } else { !option.is_empty() };
        if !is_option && among(list, word) != other && !(other && is_value) {
            return Some(&words[at + 1..]);
        }
        if !is_option && !is_value {
            return None;
        }
        option = if is_option && !word.contains('=') { word } else { "" };
    }
    None
}

fn among(list: &str, word: &str) -> bool {
    list.split(',').any(|one| one == word || begins(one, word))
}

/// Whether `pattern` ends in `*` and `word` begins with the rest of it.
fn begins(pattern: &str, word: &str) -> bool {
    pattern.strip_suffix('*').is_some_and(|begin| word.starts_with(begin))
}

/// Letters of options that take a value, so that what is attached to one is not read as more letters.
const WITH_VALUE: &[(&str, &str)] = &[
    ("curl", "AbcCDeEhHmoPrtuUwxyYzX"),
    ("wget", "aoiBtTOQPUlARDI"),
    ("tar", "fCTXKgHbLVN"),
    ("gh", "RqtHp"),
    ("iptables", "tpsdjio"),
    ("git", "CcFo"),
    ("sysctl", "r"),
    ("rsync", "fMT"),
    ("date", "drI"),
];

/// Whether `words` hold `option` before a `--`.
pub(super) fn has_option(program: &str, option: &str, words: &[Word<'_>]) -> bool {
    let mut before = words.iter().flatten().take_while(|word| **word != "--");
    if option == "--" {
        return words.contains(&Some("--"));
    }
    if option.starts_with("--") {
        let fits = |name: &str| name.len() > 2 && name.starts_with("--") && option.starts_with(name);
        return before.any(|word| fits(word.split('=').next().unwrap_or(word)));
    }
    let letter = match option.as_bytes() {
        [b'-', letter] => char::from(*letter),
        _ => return before.any(|word| *word == option),
    };
    let stops = WITH_VALUE.iter().find(|(name, _)| *name == program).map_or("", |(_, letters)| *letters);
    let in_letters = |letters: &str| {
        let end = letters.find(|c: char| stops.contains(c)).unwrap_or(letters.len());
        letters[..end].contains(letter) || letters[end..].starts_with(letter)
    };
    // The first word of `tar` is one of letters even without a dash.
    let bare = words.first().copied().flatten().filter(|_| lists("tar bsdtar gtar", program));
    bare.is_some_and(|word| !word.starts_with('-') && in_letters(word))
        || before
            .filter_map(|word| word.strip_prefix('-'))
            .any(|rest| !rest.starts_with('-') && in_letters(rest))
}
