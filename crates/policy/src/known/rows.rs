//! The commands that somebody should look at even if they are confined, and why: each row is read as `danger` says.

use super::danger::Row;
use super::{LASTING, REMOVES};

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
const TEXT: &str = "runs text as commands";
const FILE: &str = "writes a download to a file";
const BASE: &str = "removes the data of a database";
const MANAGER: &str = "changes the configuration of a package manager";

pub(super) const ROWS: &[Row] = &[
    ("rm rmdir unlink", "{system}", "removes what belongs to the system"),
    ("rm", "-r,-R,--recursive", REMOVES),
    ("rm", "-f,--force {unnamed}", REMOVES),
    ("rm unlink", "{many}", REMOVES),
    ("rm", "--no-preserve-root", REMOVES),
    ("find", "-delete", REMOVES),
    ("find fd fdfind xargs gxargs parallel", "{each}", REMOVES),
    ("rimraf del-cli", "", REMOVES),
    ("tar bsdtar gtar", "--remove-files", REMOVES),
    ("zip", "-m,--move", REMOVES),
    ("7z 7za 7zr 7zz", "-sdel", REMOVES),
    ("rar", "m,mf", REMOVES),
    ("shred srm wipe", "", "makes files unreadable for good"),
    ("dd", "{device}", DISK),
    ("cp mv tee truncate install ln", "{disk}", DISK),
    ("rm unlink tee truncate sponge dd patch", "{lasting}", LASTING),
    ("tar bsdtar gtar", "-C,--directory,--cd {lasting}", LASTING),
    ("unzip bsdunzip", "{lasting-into}", LASTING),
    ("cp mv ln install rsync", "{lasting-last}", LASTING),
    ("sed gsed perl ruby", "-i,--in-place {lasting}", LASTING),
    ("ld-linux* ld-musl* ld.so*", "", "starts a program so that another one seems to run"),
    ("mkfs* mke2fs mkswap fdisk sfdisk cfdisk gdisk sgdisk parted wipefs blkdiscard hdparm", "", DISK),
    (
        "cryptsetup losetup lvremove vgremove pvremove lvresize mdadm zpool zfs btrfs swapon swapoff fsck*",
        "",
        DISK,
    ),
    ("diskutil", "!list,info", DISK),
    ("mount umount fusermount fusermount3", "", DISK),
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
        "--delete,--delete-before,--delete-during,--delete-delay,--delete-after,--delete-excluded,--del,\
         --delete-missing-args",
        REMOVES,
    ),
    ("rsync", "--remove-source-files", REMOVES),
    ("rsync", "-e,--rsh,--rsync-path", RUNS),
    ("nc ncat netcat nc.openbsd nc.traditional socat telnet rclone croc", "", HOST),
    ("openssl", "s_client,s_server", HOST),
    ("mail mailx sendmail mutt msmtp swaks", "", SENDS),
    (
        "curl",
        "-T,--upload-file,-d,--data,--data-ascii,--data-raw,--data-binary,--data-urlencode,--json {away}",
        SENDS,
    ),
    ("curl", "-F,--form,--form-string,-Q,--quote,--mail-from {away}", SENDS),
    ("curl", "{method} {away}", SENDS),
    ("curl", "{sent-file} {away}", SENDS),
    ("curl", "-K,--config", "takes its options from a file"),
    ("curl", "--unix-socket,--abstract-unix-socket", "speaks to a service of this machine"),
    ("wget", "--post-data,--post-file,--body-data,--body-file", SENDS),
    ("wget", "{method}", SENDS),
    ("wget", "-e,--execute,--config,--use-askpass", "takes its options from a word or runs a program"),
    (
        "curl",
        "-x,--proxy,--preproxy,--socks4,--socks4a,--socks5,--socks5-hostname,--connect-to,--doh-url",
        "sends connections elsewhere",
    ),
    ("curl wget", "{file}", FILE),
    ("curl", "-O,--remote-name,--remote-name-all", FILE),
    ("http https xh", "{assigns}", SENDS),
    ("skopeo", "copy,delete,sync", SENDS),
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
    ("gcloud", "secrets versions access", SECRET),
    ("gcloud", "auth print-access-token,print-identity-token", SECRET),
    ("az", "account get-access-token", SECRET),
    ("aws", "secretsmanager,ecr get-secret-value,get-login-password", SECRET),
    ("kubectl oc", "get secret,secrets", SECRET),
    ("kubectl oc", "config view --raw", SECRET),
    ("vsce ovsx nuget goreleaser choco jsr opam", "publish,push,release", PUBLISHES),
    ("twine cabal stack conan luarocks anaconda", "upload", PUBLISHES),
    ("deno dart", "publish", PUBLISHES),
    ("mix", "hex.publish", PUBLISHES),
    ("sbt", "%publish*", PUBLISHES),
    ("rake", "%release", PUBLISHES),
    ("semantic-release cargo-release", "", PUBLISHES),
    ("dart flutter", "pub publish", PUBLISHES),
    ("kill", "{group}", STOPS),
    ("fuser", "-k,--kill", STOPS),
    ("eval", "", TEXT),
    ("alias", "{alias}", "gives another name to what deserves a look"),
    ("source .", "{script}", TEXT),
    ("tar bsdtar gtar", "--checkpoint-action,--to-command,-I,--use-compress-program", RUNS),
    ("tar bsdtar gtar", "-F,--info-script,--new-volume-script,--rsh-command,--rmt-command", RUNS),
    ("less", "{beyond-version}", "runs commands and writes files that are typed into it"),
    ("zip", "{test-by}", RUNS),
    ("zip", "--unzip-command", RUNS),
    ("sed gsed", "{sed}", "runs a command from its script"),
    ("sort gsort", "--compress-program", RUNS),
    ("rg", "--pre", RUNS),
    ("strace ltrace", "{pipe}", RUNS),
    ("coreutils", "--coreutils-prog", RUNS),
    ("date gdate", "-s,--set", "sets the clock"),
    ("date gdate", "{digits}", "sets the clock"),
    ("hwclock ntpdate", "", "sets the clock"),
    ("hostname", "{operand}", SYSTEM),
    ("hostname", "-F,-b,--file,--boot", SYSTEM),
    ("hostnamectl timedatectl localectl loginctl", "!status,show,list*,timesync-status", SYSTEM),
    ("crontab at batch atrm", "", LATER),
    ("systemctl", "!status,show,list*,is-*,cat,help,--version", SYSTEM),
    ("systemctl", "{bare}", SYSTEM),
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
    // It takes any beginning that only one of its commands has.
    ("npm", "pub*,unp*,dep*,ow*,acc*,tok*,log*,add-u*,addu*,dist-*,tea*,hoo*,prof*", PUBLISHES),
    ("yarn", "npm publish,login,logout,tag", PUBLISHES),
    ("yarn", "workspace,workspaces %publish", PUBLISHES),
    ("npm pnpm yarn", "c,config,conf,confi set,delete,edit", MANAGER),
    ("npm", "set", MANAGER),
    ("cargo", "publish,yank,login,logout,owner,release", PUBLISHES),
    ("cargo", "--config", "changes what cargo runs"),
    ("poetry uv hatch flit pdm lerna pub", "publish", PUBLISHES),
    ("gem", "push,yank,owner,signin", PUBLISHES),
    ("mvn mvnw", "%deploy,release:perform,release:prepare", PUBLISHES),
    ("gradle gradlew", "{publishes}", PUBLISHES),
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
        "workflow,run,cache,gist,project,codespace,cs run,enable,disable,rerun,cancel,delete,create,edit,ssh,item-add",
        CLOUD,
    ),
    ("gh", "extension,extensions,ext,alias,config install,upgrade,set,exec,import", "changes what gh runs"),
    ("glab", "api {method}", CLOUD),
    ("glab", "mr,issue,release,repo,variable merge,create,close,delete,update,set,approve", CLOUD),
    (
        "aws",
        "%create-*,delete-*,put-*,update-*,terminate-*,run-*,start-*,stop-*,reboot-*,modify-*,attach-*,detach-*,\
         authorize-*,revoke-*,associate-*,send-*,invoke*,publish*,deploy,rm,cp,mv,sync,mb,rb,configure,set-*,\
         add-*,remove-*,register-*,deregister-*,restore-*,tag-*,untag-*,reset-*,enable-*,disable-*,import-*,\
         execute-*,ssm,purge-*,schedule-*,cancel-*,batch-write-*,change-*,failover-*",
        CLOUD,
    ),
    (
        "gcloud az gsutil bq doctl heroku fly flyctl vercel netlify wrangler firebase linode-cli ibmcloud oci",
        "%create,delete,update,set,deploy,start,stop,restart,reset,add,remove,ssh,scp,enable,disable,submit,\
         apply,login,add-iam-policy-binding,rm,cp,mv,rsync,mb,rb,destroy,up,run,invoke,scale,config:set,\
         config:unset,apps:destroy,pg:reset,pg:push,addons:destroy,ps:stop,auth:token,domains:remove,purge,publish,\
         import,export,call",
        CLOUD,
    ),
    ("vercel netlify", "--prod", CLOUD),
    ("terraform tofu terragrunt", "apply,destroy,import,taint,untaint,force-unlock,login", CLOUD),
    ("terragrunt", "run-all,run %apply,destroy", CLOUD),
    ("helmfile", "apply,sync,destroy,delete", CLOUD),
    ("eksctl k3d", "%delete,create,upgrade,scale", CLOUD),
    ("terraform tofu terragrunt", "state,workspace rm,mv,push,delete,replace-provider", CLOUD),
    ("pulumi", "up,update,destroy,import,cancel,refresh,login", CLOUD),
    ("pulumi", "stack,config,state rm,set,delete,rename", CLOUD),
    ("ansible ansible-playbook salt puppet chef-client", "", CLOUD),
    ("serverless sls cdk sam eb", "deploy,remove,destroy,delete,bootstrap", CLOUD),
    ("psql mysql mariadb sqlite3 mongo mongosh redis-cli", "{drops}", BASE),
    ("supabase", "db reset,push", BASE),
    ("prisma", "migrate,db reset,push", BASE),
    ("rails rake", "%db:drop*,db:reset,db:purge", BASE),
    ("php", "artisan migrate:fresh,migrate:reset,db:wipe", BASE),
    ("dropdb dropuser", "", BASE),
    ("mysqladmin", "%drop,shutdown,password", BASE),
];
